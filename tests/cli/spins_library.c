static volatile unsigned long sum;

__attribute__((noinline)) int library_spin(int count)
{
    for (int i = 0; i < count; i++)
        sum += (unsigned long)i;
    return (int)sum;
}
