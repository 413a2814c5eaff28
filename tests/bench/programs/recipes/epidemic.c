/* An epidemic: people are created and linked, trials fit the model (nested, short iterations), it spreads (the
 * number of ill people grows), people are vaccinated, it spreads again, and tables are made. Fixed work. */
#include "program.h"

#define PEOPLE   400000
#define CONTACTS 8

static struct person {
    int contact[CONTACTS];
    short age, region;
    unsigned char state, days;
} *person;
static int *ill, ills, *order;
static double curve[200], best[200];
static unsigned seed = 1;

static inline unsigned next(void)
{
    return (seed = seed * 1664525 + 1013904223) >> 8;
}

WORK create(void)
{
    person = malloc(sizeof(*person) * PEOPLE);
    ill = malloc(sizeof(*ill) * PEOPLE * 2);
    order = malloc(sizeof(*order) * PEOPLE);
    for (int i = 0; i < PEOPLE; i++) {
        double age = 0;

        for (int k = 0; k < 140; k++)
            age += log(1 + next() % 1000);
        person[i] = (struct person){.age = (short)((int)age % 90), .region = (short)(next() % 400)};
        order[i] = i;
    }
}

static int by_region(const void *a, const void *b)
{
    return person[*(const int *)a].region - person[*(const int *)b].region;
}

static int by_age(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return person[y].age != person[x].age ? person[y].age - person[x].age : x - y;
}

WORK link_people(void)
{
    qsort(order, PEOPLE, sizeof(*order), by_region);
    for (int round = 0; round < 26; round++)
        for (int i = 0; i < PEOPLE; i++)
            for (int k = 0; k < CONTACTS; k++)
                person[order[i]].contact[k] = k < 6 ? order[(i + (int)(next() % 1000)) % PEOPLE] : (int)(next() % PEOPLE);
}

/* A draw of a normal distribution, made an even one up to 1000. */
static double risk(void)
{
    double near = sqrt(-2 * log((1 + next()) / 16777217.)) * cos(next() * 3.7e-7);

    return 500 * erfc(near * M_SQRT1_2);
}

static void infect(int i)
{
    if (person[i].state == 0) {
        person[i].state = 1;
        person[i].days = 0;
        ill[ills++] = i;
    }
}

/* Each ill person meets contacts, and is well after ten days. */
WORK spread(int days, unsigned chance)
{
    for (int day = 0; day < days; day++) {
        int count = ills, kept = 0;

        for (int n = 0; n < count; n++)
            for (int k = 0; k < CONTACTS; k++)
                if (risk() < chance)
                    infect(person[ill[n]].contact[k]);
        for (int n = 0; n < ills; n++) {
            if (person[ill[n]].days++ < 10)
                ill[kept++] = ill[n];
            else
                person[ill[n]].state = 2;
        }
        ills = kept;
        curve[day % 200] = ills;
    }
}

static void begin(int first)
{
    for (int i = 0; i < PEOPLE; i++)
        person[i].state = person[i].state == 3 ? 3 : 0;
    ills = 0;
    for (int i = 0; i < first; i++)
        infect((int)(next() % PEOPLE));
}

WORK fit(int steps)
{
    for (int s = 0; s < steps; s++) {
        double r = 1 + s % 100 * .02, value = 1, sum = 0;

        for (int d = 0; d < 200; d++) {
            value *= r / (1 + value * 1e-5);
            sum += pow(log(1 + value) - log(1 + curve[d]), 2);
        }
        best[s % 200] = sqrt(sum);
    }
}

WORK vaccinate(int share)
{
    for (int round = 0; round < 3; round++) {
        for (int i = PEOPLE - 1; i > 0; i--) {
            int j = (int)(next() % (unsigned)(i + 1)), old = order[i];
            order[i] = order[j];
            order[j] = old;
        }
        qsort(order, PEOPLE, sizeof(*order), by_age);
    }
    for (int i = 0; i < PEOPLE / share; i++)
        person[order[i]].state = 3;
}

WORK tabulate(int rounds)
{
    FILE *file = fopen("table", "w");

    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < PEOPLE; i += 4)
            fprintf(file, "%d,%d,%d,%.3f\n", i, person[i].age, person[i].state, (double)person[i].days / 7);
    fclose(file);
}

int main(void)
{
    mark("populate", "create");
    create();
    mark("populate", "link");
    link_people();
    for (int trial = 0; trial < 4; trial++) {
        mark("calibrate", "trial");
        for (int i = 0; i < 2; i++) {
            begin(3000 + trial * 500);
            spread(14, 45);
        }
        mark("calibrate", "fit");
        fit(130000);
    }
    mark("spread", NULL);
    begin(60);
    spread(90, 24);
    mark("vaccinate", NULL);
    vaccinate(4);
    mark("spread", NULL);
    begin(100);
    spread(110, 28);
    mark("tabulate", NULL);
    tabulate(16);
    return 0;
}
