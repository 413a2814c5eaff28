/* The model is described in disk_log.h. If memory runs out, the test ends. */
#include "disk_log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording.h"

/* Files of a store, by the ends of their names. */
static const char *const name_end[] = {"", "-wal"};
#define NAMES 2

struct step {
    enum fault_op op; /* OPEN: the step creates the file. FAULT_OP_COUNT: the step is a promise. */
    int file;
    int64_t offset;       /* offset in the file, or a size, or a promise */
    size_t size, content; /* OPEN: sizes of the data in an existing file */
    unsigned char *data;  /* data of the step; owned by the struct */
};

struct bytes {
    unsigned char *data; /* bytes of the file; owned by the struct; capacity is `room` */
    size_t size, room;
};

struct file {
    int name;
    struct bytes synced;
    size_t *pending; /* numbers of the steps since the last sync; owned by the struct */
    size_t pending_count, pending_room;
};

struct disk_log {
    pthread_mutex_t lock; /* Used while recording: the writer thread writes, the test thread
                             promises. */
    char path[512];
    struct step *step; /* recorded steps; owned by the struct */
    size_t count, room;
    int now[NAMES]; /* while recording: index of the file with each name; -1: none */
    int file_count;

    /* The following members are for playing. */
    size_t played;
    struct file *file;              /* file_count files; owned by the struct */
    int linked[NAMES], kept[NAMES]; /* For each name, the index of its file: as seen, and as on
                                       the disk. */
    struct disk_promise promise;
};

static void *grow(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return array;
    *room = *room ? 2 * *room : 64;
    array = realloc(array, *room * size);
    if (!array)
        abort();
    return array;
}

/* --- recording -------------------------------------------------------------------------------- */

struct disk_log *disk_log_new(const char *path)
{
    struct disk_log *log = calloc(1, sizeof(*log));

    if (!log)
        abort();
    pthread_mutex_init(&log->lock, NULL);
    snprintf(log->path, sizeof(log->path), "%s", path);
    for (int i = 0; i < NAMES; i++)
        log->now[i] = log->linked[i] = log->kept[i] = -1;
    return log;
}

void disk_log_free(struct disk_log *log)
{
    for (size_t i = 0; i < log->count; i++)
        free(log->step[i].data);
    for (int i = 0; log->file && i < log->file_count; i++) {
        free(log->file[i].synced.data);
        free(log->file[i].pending);
    }
    free(log->file);
    free(log->step);
    pthread_mutex_destroy(&log->lock);
    free(log);
}

static struct step *add_step(struct disk_log *log, enum fault_op op, int file)
{
    log->step = grow(log->step, log->count, &log->room, sizeof(*log->step));
    log->step[log->count] = (struct step){.op = op, .file = file};
    return &log->step[log->count++];
}

void disk_log_promise(struct disk_log *log, uint64_t number)
{
    pthread_mutex_lock(&log->lock);
    add_step(log, FAULT_OP_COUNT, -1)->offset = (int64_t)number;
    pthread_mutex_unlock(&log->lock);
}

size_t disk_log_size(const struct disk_log *log)
{
    return log->count;
}

/* Return the index of the store's file with this path, or -1 if there is none. */
static int name_of(const struct disk_log *log, const char *path)
{
    size_t length = strlen(log->path);

    for (int i = 0; i < NAMES; i++)
        if (strncmp(path, log->path, length) == 0 && strcmp(path + length, name_end[i]) == 0)
            return i;
    return -1;
}

static void add_write(struct disk_log *log, int file, const struct fault_step *from)
{
    struct step *step = add_step(log, FAULT_WRITE, file);

    step->offset = from->offset;
    step->size = (size_t)from->size;
    step->data = malloc(step->size);
    if (!step->data)
        abort();
    memcpy(step->data, from->data, step->size);
}

/* Record the content of a file that was made and synced, with its directory, under another name. */
static void add_content(struct step *step, const char *path)
{
    FILE *file = fopen(path, "r");
    struct stat status;

    if (!file || fstat(fileno(file), &status) != 0)
        return; /* The file does not exist yet. */
    step->content = (size_t)status.st_size;
    step->data = malloc(step->content + 1);
    if (!step->data || fread(step->data, 1, step->content, file) != step->content)
        abort();
    fclose(file); /* No process holds locks on the file yet. */
}

static int record_step(struct disk_log *log, const struct fault_step *step)
{
    int name = name_of(log, step->path);

    if (name < 0 || step->op == FAULT_READ || step->op == FAULT_SHM_MAP)
        return FAULT_GO;
    if (step->op == FAULT_OPEN && (log->now[name] < 0 || access(step->path, F_OK) != 0)) {
        log->now[name] = log->file_count++;
        add_step(log, FAULT_OPEN, log->now[name])->size = (size_t)name;
        add_content(&log->step[log->count - 1], step->path);
    } else if (step->op == FAULT_WRITE) {
        add_write(log, log->now[name], step);
    } else if (step->op == FAULT_TRUNCATE) {
        add_step(log, FAULT_TRUNCATE, log->now[name])->offset = step->offset;
    } else if (step->op == FAULT_SYNC) {
        add_step(log, FAULT_SYNC, log->now[name])->size = (size_t)name;
        return FAULT_SKIP;
    } else if (step->op == FAULT_DELETE && access(step->path, F_OK) == 0) {
        struct step *added = add_step(log, FAULT_DELETE, log->now[name]);

        added->offset = step->size; /* includes a sync of the directory */
        added->size = (size_t)name;
        log->now[name] = -1;
    }
    return FAULT_GO;
}

int disk_log_hook(void *context, const struct fault_step *step)
{
    struct disk_log *log = context;
    int answer;

    pthread_mutex_lock(&log->lock);
    answer = record_step(log, step);
    pthread_mutex_unlock(&log->lock);
    return answer;
}

/* --- playing ---------------------------------------------------------------------------------- */

static void resize(struct bytes *bytes, size_t size)
{
    if (size > bytes->room) {
        bytes->room = 2 * size;
        bytes->data = realloc(bytes->data, bytes->room);
        if (!bytes->data)
            abort();
    }
    if (size > bytes->size)
        memset(bytes->data + bytes->size, 0, size - bytes->size);
    bytes->size = size;
}

static void apply(struct bytes *bytes, const struct step *step)
{
    size_t end = (size_t)step->offset + step->size;

    if (step->op == FAULT_TRUNCATE) {
        resize(bytes, (size_t)step->offset);
        return;
    }
    if (end > bytes->size)
        resize(bytes, end);
    memcpy(bytes->data + step->offset, step->data, step->size);
}

static void sync_folder(struct disk_log *log)
{
    memcpy(log->kept, log->linked, sizeof(log->kept));
}

static void play(struct disk_log *log, size_t at)
{
    const struct step *step = &log->step[at];
    struct file *file = step->file >= 0 ? &log->file[step->file] : NULL;

    switch ((int)step->op) {
    case FAULT_OPEN:
        file->name = (int)step->size;
        log->linked[file->name] = step->file;
        if (step->data) {
            resize(&file->synced, step->content);
            memcpy(file->synced.data, step->data, step->content);
            sync_folder(log);
        }
        break;
    case FAULT_DELETE:
        log->linked[step->size] = -1;
        if (step->offset)
            sync_folder(log);
        break;
    case FAULT_WRITE:
    case FAULT_TRUNCATE:
        file->pending =
            grow(file->pending, file->pending_count, &file->pending_room, sizeof(*file->pending));
        file->pending[file->pending_count++] = at;
        break;
    case FAULT_SYNC:
        for (size_t i = 0; i < file->pending_count; i++)
            apply(&file->synced, &log->step[file->pending[i]]);
        file->pending_count = 0;
        if (file->name != 0)
            sync_folder(log);
        log->promise.synced = log->promise.made;
        break;
    default:
        log->promise.made = (uint64_t)step->offset;
        break;
    }
}

void disk_log_play(struct disk_log *log, size_t at, struct disk_promise *ret)
{
    if (!log->file)
        log->file = calloc((size_t)log->file_count, sizeof(*log->file));
    if (!log->file)
        abort();
    while (log->played < at && log->played < log->count)
        play(log, log->played++);
    *ret = log->promise;
}

/* --- cutting ---------------------------------------------------------------------------------- */

/* Return one of the sizes that the file had since the last sync. */
static size_t choose_size(const struct disk_log *log, const struct file *file, uint64_t *state)
{
    size_t size = file->synced.size, moment = recording_random(state, file->pending_count + 1);

    for (size_t i = 0; i < moment; i++) {
        const struct step *step = &log->step[file->pending[i]];
        size_t end = (size_t)step->offset + step->size;

        if (step->op == FAULT_TRUNCATE || end > size)
            size = end;
    }
    return size;
}

static void fill_garbage(struct bytes *bytes, size_t from, uint64_t *state)
{
    if (recording_random(state, 4) == 0)
        for (size_t i = from; i < bytes->size; i++)
            bytes->data[i] = (unsigned char)recording_random(state, 256);
}

/* Write the sectors of the step whose moment has not passed. */
static void apply_sectors(struct bytes *image, const struct step *step, size_t sector,
                          uint32_t *moment)
{
    size_t at = (size_t)step->offset, end = at + step->size;

    while (at < end) {
        size_t until = (at / sector + 1) * sector;

        if (until > end)
            until = end;
        if (moment[at / sector] > 0) {
            moment[at / sector]--;
            if (until > image->size)
                resize(image, until);
            memcpy(image->data + at, step->data + (at - (size_t)step->offset), until - at);
        }
        at = until;
    }
}

static void mix(const struct disk_log *log, const struct file *file, size_t sector, uint64_t *state,
                struct bytes *image)
{
    size_t size = choose_size(log, file, state), end = image->size, sectors;
    uint32_t *moment;

    for (size_t i = 0; i < file->pending_count; i++) {
        const struct step *step = &log->step[file->pending[i]];

        if ((size_t)step->offset + step->size > end)
            end = (size_t)step->offset + step->size;
    }
    sectors = end / sector + 1;
    moment = calloc(sectors, sizeof(*moment));
    if (!moment)
        abort();
    for (size_t i = 0; i < file->pending_count; i++) {
        const struct step *step = &log->step[file->pending[i]];
        size_t last = ((size_t)step->offset + step->size - 1) / sector;

        for (size_t s = (size_t)step->offset / sector; step->size > 0 && s <= last; s++)
            moment[s]++;
    }
    for (size_t s = 0; s < sectors; s++)
        moment[s] = (uint32_t)recording_random(state, (uint64_t)moment[s] + 1);
    resize(image, end);
    fill_garbage(image, file->synced.size, state);
    for (size_t i = 0; i < file->pending_count; i++)
        if (log->step[file->pending[i]].op == FAULT_WRITE)
            apply_sectors(image, &log->step[file->pending[i]], sector, moment);
    resize(image, size);
    free(moment);
}

static void order(const struct disk_log *log, const struct file *file, size_t sector,
                  uint64_t *state, struct bytes *image)
{
    for (size_t i = 0; i < file->pending_count; i++) {
        struct step step = log->step[file->pending[i]];

        if (i + 1 == file->pending_count && step.op == FAULT_WRITE)
            step.size = recording_random(state, step.size / sector + 1) * sector;
        apply(image, &step);
    }
}

static void save(const char *path, const struct bytes *image)
{
    FILE *file = fopen(path, "w");

    if (!file || (image->size > 0 && fwrite(image->data, image->size, 1, file) != 1) ||
        fclose(file) != 0)
        abort();
}

void disk_log_cut(struct disk_log *log, const char *path, enum disk_cut kind, size_t sector,
                  uint64_t seed)
{
    uint64_t state = seed;
    char name[600];

    recording_remove(path);
    for (int n = 0; n < NAMES; n++) {
        int present = kind == DISK_CUT_ORDERED ||
                      (kind == DISK_CUT_MIXED && recording_random(&state, 2) == 0);
        int number = present ? log->linked[n] : log->kept[n];
        const struct file *file = number >= 0 ? &log->file[number] : NULL;
        struct bytes image = {0};

        if (!file)
            continue;
        resize(&image, file->synced.size);
        if (image.size > 0)
            memcpy(image.data, file->synced.data, image.size);
        if (kind == DISK_CUT_MIXED)
            mix(log, file, sector, &state, &image);
        else if (kind == DISK_CUT_ORDERED)
            order(log, file, sector, &state, &image);
        snprintf(name, sizeof(name), "%s%s", path, name_end[n]);
        save(name, &image);
        free(image.data);
    }
}
