long work(long rounds)
{
    long sum = 0;
    for (long i = 1; i <= rounds; i++)
        sum += i % 3 == 0 ? i : 1;
    return sum;
}
