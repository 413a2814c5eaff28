/* A Lisp interpreter: sources are read, scripts are evaluated (calls, trees, sorting, walks), values are printed,
 * and the heap, which grows, is collected. Fixed work. */
#include <ctype.h>

#include "program.h"

#define CELLS (110U << 20)
#define CAR(x) cell[(x) >> 2].car
#define CDR(x) cell[(x) >> 2].cdr
#define NUMBER(x) ((int)(x) >> 2)

typedef unsigned value; /* the low two bits: 0 cell, 1 number, 2 symbol */
enum { IF, LAMBDA, DEFINE, QUOTE, ADD, SUB, MUL, REM, LESS, CONS, FIRST, REST, NUL, PAIR, BUILTINS };

static struct { value car, cdr; } *cell;
static unsigned char *live;
static unsigned unused, top = 1, names, freed;
static char name[512][12];
static value global[512];
static const char *at;

static value cons(value car, value cdr)
{
    unsigned place = unused ? unused : top++;

    if (unused)
        unused = cell[place].cdr;
    if (place >= CELLS)
        exit(9);
    cell[place].car = car;
    cell[place].cdr = cdr;
    return place << 2;
}

static value number(int n) { return (value)n << 2 | 1; }

static value symbol(const char *text)
{
    unsigned i = 0;

    while (i < names && strcmp(name[i], text))
        i++;
    if (i == names)
        strcpy(name[names++], text);
    return i << 2 | 2;
}

static value parse(void)
{
    char word[12];
    int size = 0;

    while (isspace((unsigned char)*at))
        at++;
    if (*at == '(') {
        value first = 0, last = 0;
        for (at++; isspace((unsigned char)*at) || *at != ')';) {
            if (isspace((unsigned char)*at)) {
                at++;
                continue;
            }
            value one = cons(parse(), 0);
            if (first)
                CDR(last) = one;
            else
                first = one;
            last = one;
        }
        at++;
        return first;
    }
    while (*at && !isspace((unsigned char)*at) && *at != '(' && *at != ')' && size < 11)
        word[size++] = *at++;
    word[size] = 0;
    return isdigit((unsigned char)*word) ? number(atoi(word)) : symbol(word);
}

static value eval(value x, value env)
{
    for (;;) {
        if ((x & 3) == 1 || !x)
            return x;
        if ((x & 3) == 2) {
            for (; env; env = CDR(env))
                if (CAR(CAR(env)) == x)
                    return CDR(CAR(env));
            return global[x >> 2];
        }
        value op = CAR(x), args = CDR(x), a, b;
        if ((op & 3) == 2 && op >> 2 < BUILTINS) {
            if (op >> 2 == IF) {
                x = eval(CAR(args), env) ? CAR(CDR(args)) : CAR(CDR(CDR(args)));
                continue;
            }
            if (op >> 2 == LAMBDA)
                return cons(args, env);
            if (op >> 2 == QUOTE)
                return CAR(args);
            if (op >> 2 == DEFINE)
                return global[CAR(args) >> 2] = eval(CAR(CDR(args)), env);
            a = eval(CAR(args), env);
            b = CDR(args) ? eval(CAR(CDR(args)), env) : 0;
            switch (op >> 2) {
            case ADD: return number(NUMBER(a) + NUMBER(b));
            case SUB: return number(NUMBER(a) - NUMBER(b));
            case MUL: return number(NUMBER(a) * NUMBER(b));
            case REM: return number(NUMBER(a) % NUMBER(b));
            case LESS: return NUMBER(a) < NUMBER(b) ? 5 : 0;
            case CONS: return cons(a, b);
            case FIRST: return CAR(a);
            case REST: return CDR(a);
            case NUL: return a ? 0 : 5;
            default: return a && !(a & 3) ? 5 : 0;
            }
        }
        value function = eval(op, env), inner = CDR(function);
        for (value p = CAR(CAR(function)); p; p = CDR(p), args = CDR(args))
            inner = cons(cons(CAR(p), eval(CAR(args), env)), inner);
        x = CAR(CDR(CAR(function)));
        env = inner;
    }
}

static void reach(value x)
{
    for (; x && !(x & 3) && !live[x >> 2]; x = CDR(x)) {
        live[x >> 2] = 1;
        reach(CAR(x));
    }
}

static void collect(int times)
{
    mark("collect", NULL);
    while (times--) {
        memset(live, 0, top);
        for (unsigned i = 0; i < names; i++)
            reach(global[i]);
        for (unsigned i = unused = 0; ++i < top;)
            if (!live[i]) {
                cell[i].car = 0;
                cell[i].cdr = unused;
                unused = i;
                freed++;
            }
    }
}

static void print(FILE *to, value x)
{
    if (x && !(x & 3)) {
        putc('(', to);
        for (; x && !(x & 3); x = CDR(x)) {
            print(to, CAR(x));
            putc(' ', to);
        }
        putc(')', to);
    } else if ((x & 3) == 2)
        fputs(name[x >> 2], to);
    else
        fprintf(to, "%d", NUMBER(x));
}

static void script(const char *label, const char *text, int times)
{
    mark(label, NULL);
    while (times--) {
        at = text;
        eval(parse(), 0);
    }
}

static void sources(char *text, const char *variable, int forms)
{
    char *end = text;

    mark("read", NULL);
    end += sprintf(end, "(define %s (quote (", variable);
    for (int i = 0; i < forms; i++)
        end += sprintf(end, "(set v%d (call f%d %d v%d) (list %d %d))\n", rand() % 300, rand() % 100, i, rand() % 300,
                       rand() % 9999, i * 3);
    strcpy(end, ")))");
    at = text;
    eval(parse(), 0);
}

static void written(const char *file, int times, const char *variable)
{
    FILE *to = fopen(file, "w");

    mark("print", NULL);
    while (times--)
        print(to, global[symbol(variable) >> 2]);
    fflush(to);
    fsync(fileno(to));
    fclose(to);
}

int main(void)
{
    static const char *const builtin[] = {"if", "lambda", "define", "quote", "+", "-", "*", "rem", "<", "cons", "car", "cdr",
                                           "null", "pair"},
        *const library[] = {
            "(define fib (lambda (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))))",
            "(define tree (lambda (n s) (if (< n 1) s (cons (tree (- n 1) (+ s s)) (tree (- n 1) (+ s 1))))))",
            "(define upto (lambda (n l) (if (< n 1) l (upto (- n 1) (cons (rem (* n 7919) 10007) l)))))",
            "(define merge (lambda (a b) (if (null a) b (if (null b) a (if (< (car a) (car b))"
            " (cons (car a) (merge (cdr a) b)) (cons (car b) (merge a (cdr b))))))))",
            "(define odd (lambda (l) (if (null l) l (cons (car l) (odd (if (null (cdr l)) (cdr l) (cdr (cdr l))))))))",
            "(define sort (lambda (l) (if (null (cdr l)) l (merge (sort (odd l)) (sort (odd (cdr l)))))))",
            "(define sum (lambda (t) (if (pair t) (+ (sum (car t)) (sum (cdr t))) t)))"};
    static const char fib[] = "(fib 24)", sort[] = "(define s (sort (upto 4000 (quote ()))))", walk[] = "(sum t1)";
    char *text = malloc(64 << 20);

    cell = calloc(CELLS, sizeof *cell);
    live = calloc(CELLS, 1);
    for (int i = 0; i < BUILTINS; i++)
        symbol(builtin[i]);
    for (unsigned i = 0; i < sizeof library / sizeof *library; i++) {
        at = library[i];
        eval(parse(), 0);
    }
    sources(text, "p1", 70000);
    script("calls", fib, 45);
    script("trees", "(define t1 (tree 20 1))", 2);
    collect(7);
    script("sort", sort, 40);
    script("trees", "(define t2 (tree 21 2))", 1);
    script("walk", walk, 4);
    collect(5);
    script("calls", fib, 60);
    written("out1", 5, "t1");
    script("sort", sort, 55);
    sources(text, "p2", 80000);
    script("trees", "(define t3 (tree 21 3))", 1);
    collect(4);
    script("walk", walk, 6);
    written("out2", 6, "p2");
    return freed == 1;
}
