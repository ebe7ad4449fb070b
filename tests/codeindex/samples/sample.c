#include <stdio.h>
#include "local.h"

#define LIMIT 10
#define SQUARE(x) ((x) * (x))

typedef struct point { int x, y; } Point;
typedef int (*Callback)(int, char *);
typedef unsigned long ulong_t;
struct node { struct node *next; char name[16]; };
union bits { int i; float f; };
enum color { RED, GREEN = 2 };
enum { ANONYMOUS };

static int counter = 0;
int total, *pointer, table[10];
extern int elsewhere;
const char *names[] = { "a", "b" };

static int helper(int a);
int outside(int a);
static int helper(int a) { int local = a; return local; }
char *make(void) { return 0; }
int main(int argc, char **argv)
{
    return SQUARE(argc);
}
