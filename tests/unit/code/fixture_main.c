/* The program around fixture_code.c, or around a library made from that file. */
void report(void);

int main(void)
{
    report();
    return 0;
}
