/* The program around fixture_code.c, or around the library that is made of it. */
void report(void);

int main(void)
{
    report();
    return 0;
}
