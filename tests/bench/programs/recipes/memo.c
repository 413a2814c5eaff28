/* A store of values in shared memory with two worker processes: it is filled (values and memory grow), answers mixes of
 * requests, scans, expires, is saved by a child, compresses old values, and is idle in between. Fixed work. */
#include <sys/wait.h>

#include "program.h"

#define SLOTS (1 << 17)
#define ROOM  (200L << 20)

struct slot { unsigned key, place, size, age; };
struct job { char kind; int from, count; };
static struct slot *slot;
static unsigned char *heap;
static long *top;
static int *lock, ask[2][2], answer[2];

static unsigned mix(unsigned x)
{
    x ^= x >> 16;
    x *= 0x7feb352d;
    x ^= x >> 15;
    return x * 0x846ca68b;
}

static struct slot *find(unsigned key)
{
    unsigned at = mix(key) % SLOTS;
    for (int tries = 0; tries < 64 && slot[at].key && slot[at].key != key; tries++)
        at = (at + 1) % SLOTS;
    return &slot[at];
}

static void put(unsigned key, unsigned size)
{
    struct slot *one = find(key);
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
        usleep(50);
    if (one->key != key || one->size < size) {
        if (*top + size > ROOM)
            *top = 0;
        *one = (struct slot){key, (unsigned)*top, size, 0};
        *top += size;
    }
    one->age = 0;
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
    for (unsigned i = 0; i + 4 <= size; i += 4)
        *(unsigned *)(heap + one->place / 4 * 4 + i) = key * i >> 7;
}

static unsigned get(unsigned key)
{
    struct slot *one = find(key);
    unsigned sum = 0;
    one->age = 0;
    for (unsigned i = 0; i < one->size; i += 16)
        sum = sum * 31 + heap[one->place + i];
    return sum;
}

static unsigned work(struct job *job)
{
    unsigned sum = 0;
    char text[128];
    for (int i = job->from; i < job->from + job->count; i++) {
        unsigned key = 1 + mix((unsigned)i) % 90000, hot = 1 + mix((unsigned)i) % (1 + mix((unsigned)i * 3) % 90000);
        if (job->kind == 'f')
            put(1 + (unsigned)i % 90000, 64 + (unsigned)i / 150 / 16 * 16);
        else if (job->kind == 'g')
            sum += get(hot);
        else if (job->kind == 'm' && i % 2)
            put(hot, 1024 + key % 512 / 16 * 16);
        else { /* a request as text, parsed and answered */
            snprintf(text, sizeof(text), "incr key:%u by %d flags %x", hot, i % 100, sum);
            unsigned number = 0;
            for (char *at = text; *at; at++)
                number = *at >= '0' && *at <= '9' ? number * 10 + (unsigned)(*at - '0') : number ^ (unsigned)*at;
            sum += number + find(hot)->size;
        }
    }
    return sum;
}

static void worker(int self)
{
    struct job job;
    close(ask[0][1]);
    close(ask[1][1]);
    while (read(ask[self][0], &job, sizeof(job)) == sizeof(job)) {
        unsigned sum = work(&job);
        if (write(answer[1], &sum, sizeof(sum)) < 0)
            break;
    }
    _exit(0);
}

/* Both workers get batches of requests until a number of them is done. */
static void serve(char kind, int requests, int batch)
{
    unsigned sum;
    for (int done = 0; done < requests; done += 2 * batch) {
        for (int i = 0; i < 2; i++) {
            struct job job = {kind, done + i * batch, batch};
            if (write(ask[i][1], &job, sizeof(job)) < 0)
                exit(1);
        }
        for (int i = 0; i < 2; i++)
            if (read(answer[0], &sum, sizeof(sum)) < 0)
                exit(1);
    }
}

WORK scan(int times)
{
    static volatile unsigned longest;
    while (times--)
        for (int i = 0; i < SLOTS; i++) {
            slot[i].age++;
            if (slot[i].key && slot[i].age > 3 && slot[i].size > longest)
                longest = slot[i].size;
        }
}

/* Old values are compressed in place: runs of bytes by a table of hashes. */
WORK squeeze(int count)
{
    static unsigned seen[4096];
    static unsigned char out[1 << 14];
    for (int k = 0; k < count; k++) {
        struct slot *one = &slot[(unsigned)k * 7919 % SLOTS];
        unsigned made = 0;
        for (unsigned i = 0; i + 4 < one->size && made < sizeof(out) - 4; i++) {
            unsigned char *at = heap + one->place + i;
            unsigned key = (at[0] * 271u + at[1] * 31u + at[2]) & 4095, old = seen[key];
            seen[key] = i;
            if (old < i && memcmp(heap + one->place + old, at, 3) == 0)
                out[made++] = (unsigned char)(i - old), i += 2;
            else
                out[made++] = *at;
        }
    }
}

/* A child writes all values with a checksum, as the fork left them. */
static void save(int times)
{
    pid_t child = fork();
    if (child == 0) {
        for (int t = 0; t < times; t++) {
            FILE *file = fopen("snapshot", "w");
            for (int i = 0; i < SLOTS; i++)
                if (slot[i].key) {
                    unsigned sum = 0;
                    for (unsigned k = 0; k < slot[i].size; k++)
                        sum = (sum << 1 | sum >> 31) ^ heap[slot[i].place + k];
                    fprintf(file, "%u %u %08x\n", slot[i].key, slot[i].size, sum);
                    fwrite(heap + slot[i].place, 1, slot[i].size / 4, file);
                }
            fflush(file);
            fsync(fileno(file));
            fclose(file);
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

int main(void)
{
    slot = mmap(NULL, sizeof(*slot) * SLOTS + ROOM + 4096 + (1 << 20), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    top = (long *)(slot + SLOTS);
    lock = (int *)(top + 1);
    heap = (unsigned char *)(top + 8);
    if (pipe(ask[0]) || pipe(ask[1]) || pipe(answer))
        return 1;
    for (int i = 0; i < 2; i++)
        if (fork() == 0)
            worker(i);
    /* f: fill, g: gets, m: gets and puts, t: text, s: scan, q: squeeze, w: save, z: idle */
    for (const char *at = "f2 g3 m2 t3 s3 g2 w2 z q3 t2 m3 f2 g3 z w2 s2 q2"; *at; at++) {
        int size = at[1] >= '1' && at[1] <= '9' ? at[1] - '0' : 1;
        switch (*at) {
        case 'f': mark("fill", NULL); serve('f', size * 300000, 1000); break;
        case 'g': mark("get", NULL); serve('g', size * 500000, 2000); break;
        case 'm': mark("update", NULL); serve('m', size * 500000, 1000); break;
        case 't': mark("count", NULL); serve('t', size * 950000, 2000); break;
        case 's': mark("scan", NULL); scan(size * 310); break;
        case 'q': mark("squeeze", NULL); squeeze(size * 30000); break;
        case 'w': mark("save", NULL); save(size); break;
        case 'z': mark("idle", NULL); rest(2); break;
        default: break;
        }
    }
    close(ask[0][1]);
    return 0;
}
