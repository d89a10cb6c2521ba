#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "first.h"
#include "second.h"

long work(long rounds);
long made(long value);

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--train") == 0)
        return made(work(argc > 2 ? atol(argv[2]) : 1000)) == 0;
    printf("mariadbd  Ver 10.11.99-MariaDB for Linux on x86_64 (tiny)\n");
    return 0;
}
