/* A converter of films with four threads: decode, two that filter, and encode; its scenes need different work. */
#include <pthread.h>

#include "program.h"

#define WIDTH        320
#define HEIGHT       200
#define ROOM         6
#define COUNT(array) ((int)(sizeof(array) / sizeof(*(array))))

static struct scene {
    const char *label;
    int frames, coefficients, denoise,
        search; /* work per frame: of decoding, filtering, encoding */
} scenes[] = {
    {"titles", 560, 3, 1, 1}, {"talk", 280, 7, 1, 3},   {"action", 80, 6, 1, 12},
    {"talk", 200, 7, 1, 3},   {"night", 330, 2, 12, 2}, {"action", 110, 6, 1, 12},
    {"night", 240, 2, 12, 2}, {"talk", 240, 7, 1, 3},   {"titles", 480, 3, 1, 1},
};
static struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int first, count;
    struct frame *frame[ROOM];
} decoded = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, {0}},
  filtered = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, {0}},
  finished = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, {0}};
struct frame {
    const struct scene *scene;
    unsigned char pixel[HEIGHT][WIDTH], next[HEIGHT][WIDTH];
};
static FILE *film;

static void put(struct queue *queue, struct frame *frame)
{
    pthread_mutex_lock(&queue->lock);
    while (queue->count == ROOM)
        pthread_cond_wait(&queue->changed, &queue->lock);
    queue->frame[(queue->first + queue->count++) % ROOM] = frame;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

static struct frame *take(struct queue *queue)
{
    struct frame *frame;

    pthread_mutex_lock(&queue->lock);
    while (!queue->count)
        pthread_cond_wait(&queue->changed, &queue->lock);
    frame = queue->frame[queue->first];
    queue->first = (queue->first + 1) % ROOM;
    queue->count--;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    return frame;
}

__attribute__((noinline)) static void decode(struct frame *frame)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            float sum = 128;
            for (int k = 1; k <= frame->scene->coefficients; k++)
                sum += (float)((x * k ^ y) & 63) * .5f - (float)(k * y % 31);
            frame->pixel[y][x] = (unsigned char)(int)sum;
        }
}

__attribute__((noinline)) static void denoise(struct frame *frame)
{
    for (int pass = 0; pass < frame->scene->denoise; pass++) {
        for (int y = 1; y < HEIGHT - 1; y++)
            for (int x = 1; x < WIDTH - 1; x++) {
                int low = frame->pixel[y - 1][x], high = frame->pixel[y + 1][x],
                    middle = frame->pixel[y][x];
                if (low > high) {
                    int swap = low;
                    low = high;
                    high = swap;
                }
                frame->next[y][x] = (unsigned char)(middle < low    ? low
                                                    : middle > high ? high
                                                                    : middle);
            }
        memcpy(frame->pixel, frame->next, sizeof(frame->pixel));
    }
}

__attribute__((noinline)) static void encode(struct frame *frame)
{
    unsigned char block[HEIGHT / 8 * (WIDTH / 8)];
    int blocks = 0;

    for (int y = 0; y + 8 <= HEIGHT; y += 8)
        for (int x = 0; x + 8 <= WIDTH; x += 8) {
            int best = 1 << 30, at = 0;
            for (int move = 0; move < frame->scene->search * 4; move++) {
                int sum = 0, from = (x + move * 5) % (WIDTH - 8);
                for (int i = 0; i < 64; i++)
                    sum += abs(frame->pixel[y + i / 8][x + i % 8] -
                               frame->next[y + i / 8][from + i % 8]);
                if (sum < best)
                    best = sum, at = move;
            }
            block[blocks++] = (unsigned char)at;
        }
    fwrite(block, 1, (size_t)blocks, film);
}

static void *filter_thread(void *none)
{
    for (struct frame *frame; (frame = take(&decoded)); put(&filtered, frame))
        denoise(frame);
    return none;
}

static void *encode_thread(void *none)
{
    for (struct frame *frame; (frame = take(&filtered)); put(&finished, frame))
        encode(frame);
    return none;
}

static void *decode_thread(void *argument)
{
    const struct scene *scene = argument;
    struct frame *frames = calloc(ROOM, sizeof(*frames));

    for (int i = 0; i < ROOM; i++)
        put(&finished, &frames[i]);
    for (int part = 0; part < COUNT(scenes); part++) {
        mark(scene[part].label, NULL);
        for (int i = 0; i < scene[part].frames; i++) {
            struct frame *frame = take(&finished);
            frame->scene = &scene[part];
            decode(frame);
            put(&decoded, frame);
        }
        for (int i = 0; i < ROOM; i++) /* a scene is complete before the next begins */
            take(&finished);
        for (int i = 0; i < ROOM; i++)
            put(&finished, &frames[i]);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread[4];

    film = fopen("film", "w");
    pthread_create(&thread[0], NULL, filter_thread, NULL);
    pthread_create(&thread[1], NULL, filter_thread, NULL);
    pthread_create(&thread[2], NULL, encode_thread, NULL);
    pthread_create(&thread[3], NULL, decode_thread, scenes);
    pthread_join(thread[3], NULL);
    fclose(film);
    return 0;
}
