/*
 * The writer: what is handed over of the code that was seen. Each is a row of numbers and texts in
 * the ring, which write_record.c inserts with the statement of its kind.
 */
#include "writer.h"

#include <string.h>

#include "database.h"

/* Append a row, with as many numbers and texts as its kind has. Half of the ring is for periods:
 * what has no room in the other half is lost. */
static void push(struct rps_writer *writer, enum rps_write_record_kind kind, const int64_t *number,
                 size_t numbers, const char *const *text, size_t texts)
{
    struct rps_write_row *row = NULL;
    size_t bytes = numbers * sizeof(*number), size = sizeof(*row) + bytes;
    bool wake;

    for (size_t i = 0; i < texts; i++)
        size += strlen(text[i]) + 1;
    pthread_mutex_lock(&writer->lock);
    if (!writer->broken && writer->ring.used < writer->ring.size / 2)
        row = rps_ring_push(&writer->ring, kind, size);
    if (row) {
        char *place = (char *)memcpy(row->number, number, bytes) + bytes;

        for (size_t i = 0; i < texts; i++)
            place = stpcpy(place, text[i]) + 1;
        row->number_count = (int)numbers;
        writer->rows++;
    } else {
        writer->lost_rows++;
    }
    wake = rps_writer_is_wanted(writer);
    pthread_mutex_unlock(&writer->lock);
    if (wake)
        pthread_cond_signal(&writer->wake);
}

#define PUSH(writer, kind, numbers, texts)                                                         \
    push(writer, kind, numbers, sizeof(numbers) / sizeof((numbers)[0]), texts,                     \
         sizeof(texts) / sizeof((texts)[0]))

static int64_t lost_rows(struct rps_writer *writer)
{
    uint64_t lost;

    pthread_mutex_lock(&writer->lock);
    lost = writer->lost_rows;
    pthread_mutex_unlock(&writer->lock);
    return (int64_t)lost;
}

void rps_writer_sampling(struct rps_writer *writer, const struct rps_sampling *sampling)
{
    const char *const text[] = {sampling->event, sampling->stacks};
    const int64_t number[] = {
        (int64_t)sampling->frequency,
        (int64_t)sampling->threshold,
        (int64_t)sampling->samples,
        (int64_t)sampling->complete,
        (int64_t)sampling->lost + lost_rows(writer),
        (int64_t)sampling->throttled,
        (int64_t)sampling->unmapped,
    };

    PUSH(writer, RPS_WRITE_RECORD_SAMPLING, number, text);
}

void rps_writer_module(struct rps_writer *writer, const struct rps_module *module)
{
    const int64_t number[] = {module->module};
    const char *const text[] = {rps_module_kind_name(module->kind), module->path, module->build_id};

    PUSH(writer, RPS_WRITE_RECORD_MODULE, number, text);
}

void rps_writer_frame(struct rps_writer *writer, const struct rps_frame *frame)
{
    const int64_t number[] = {frame->frame, frame->module, (int64_t)frame->address};

    push(writer, RPS_WRITE_RECORD_FRAME, number, 3, NULL, 0);
}

void rps_writer_stack(struct rps_writer *writer, const struct rps_stack *stack)
{
    const int64_t number[] = {stack->stack, stack->parent, stack->frame};

    push(writer, RPS_WRITE_RECORD_STACK, number, 3, NULL, 0);
}

void rps_writer_task(struct rps_writer *writer, const struct rps_task *task)
{
    const int64_t number[] = {task->task, task->pid, task->tid, task->start_ns, task->end_ns};
    const char *const text[] = {task->name};

    PUSH(writer, RPS_WRITE_RECORD_TASK, number, text);
}

static void push_count(struct rps_writer *writer, enum rps_write_record_kind kind,
                       const struct rps_code_count *count)
{
    const int64_t number[] = {count->level, count->cpu, (int64_t)count->period, count->id,
                              (int64_t)count->samples};

    push(writer, kind, number, 5, NULL, 0);
}

void rps_writer_stack_count(struct rps_writer *writer, const struct rps_code_count *count)
{
    push_count(writer, RPS_WRITE_RECORD_STACK_COUNT, count);
}

void rps_writer_task_count(struct rps_writer *writer, const struct rps_code_count *count)
{
    push_count(writer, RPS_WRITE_RECORD_TASK_COUNT, count);
}
