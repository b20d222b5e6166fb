/* segment.c - makes, maps and checks the shared statistics segment.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#include "stat/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"

/* Rows begin on pages of their own, so that no two workers write to one cache line. */
enum { PAGE = 4096 };

_Static_assert(sizeof(struct segment_worker) == 64, "slots begin on a cache line");
_Static_assert(sizeof(struct segment_head) % 8 == 0, "the dictionary is aligned");

static uint64_t rounded(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* Offsets and sizes of a segment for these tables; text_size is told beside. */
static struct segment_head plan(const struct segment_table *tables, size_t n, unsigned workers,
                                uint64_t *text_size)
{
    struct segment_head head = {.magic = SEGMENT_MAGIC,
                                .layout = SEGMENT_LAYOUT,
                                .generation = 1,
                                .workers = workers,
                                .master = (uint32_t)getpid(),
                                .dictionary = sizeof head};

    *text_size = 0;
    for (size_t t = 0; t < n; t++) {
        uint32_t slot = tables[t].slot;
        for (size_t i = 0; i < tables[t].n; i++) {
            const struct bt_counter *row = &tables[t].row[i];
            *text_size += strlen(row->name) + strlen(row->unit) + strlen(row->doc) + 3;
            slot += BT_SLOTS_(row->kind);
        }
        head.entries += (uint32_t)tables[t].n;
        if (slot > head.slots)
            head.slots = slot;
    }
    head.text = head.dictionary + head.entries * sizeof(struct segment_entry);
    head.rows = rounded(head.text + *text_size, PAGE);
    head.row_size = rounded(sizeof(struct segment_worker) + head.slots * UINT64_C(8), PAGE);
    head.size = head.rows + head.row_size * (workers + UINT64_C(2));
    return head;
}

static uint32_t put_text(char **at, const char *base, const char *text)
{
    uint32_t offset = (uint32_t)(*at - base);
    size_t len = strlen(text) + 1;

    memcpy(*at, text, len);
    *at += len;
    return offset;
}

static void write_dictionary(struct segment_head *head, const struct segment_table *tables,
                             size_t n)
{
    struct segment_entry *entry = (void *)((char *)head + head->dictionary);
    char *text = (char *)head + head->text;
    char *at = text;

    for (size_t t = 0; t < n; t++) {
        uint32_t slot = tables[t].slot;
        for (size_t i = 0; i < tables[t].n; i++, entry++) {
            const struct bt_counter *row = &tables[t].row[i];
            entry->name = put_text(&at, text, row->name);
            entry->unit = put_text(&at, text, row->unit);
            entry->doc = put_text(&at, text, row->doc);
            entry->kind = row->kind;
            entry->slot = slot;
            entry->slots = BT_SLOTS_(row->kind);
            slot += entry->slots;
        }
    }
}

bool segment_make(struct segment *segment, const struct segment_table *tables, size_t n,
                  unsigned workers)
{
    uint64_t text_size;
    struct segment_head head = plan(tables, n, workers, &text_size);

    CHECK(workers <= SEGMENT_WORKERS_MAX);
    *segment = (struct segment){.fd = -1};
    int fd = memfd_create("bobtail-stat", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return false;
    if (ftruncate(fd, (off_t)head.size) != 0)
        goto failed;
    /* A reader that maps it need not fear that it shrinks under its feet, and cannot write to it by
     * mistake, also when it is of the same user. */
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0 || fchmod(fd, 0444) != 0)
        goto failed;
    void *at = mmap(NULL, head.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        goto failed;
    head.started = head.loaded = (int64_t)time(NULL);
    write_dictionary(memcpy(at, &head, sizeof head), tables, n);
    *segment = (struct segment){.head = at, .size = head.size, .fd = fd};
    return true;
failed:;
    int why = errno;
    close(fd);
    errno = why;
    return false;
}

/* NULL, or why the head cannot be that of a segment of `size` bytes. */
static const char *head_fault(const struct segment_head *head, uint64_t size)
{
    if (memcmp(head->magic, SEGMENT_MAGIC, sizeof SEGMENT_MAGIC) != 0)
        return "it is not a statistics segment";
    if (head->layout != SEGMENT_LAYOUT)
        return "its layout is of another version";
    /* Bounded first, so that the sums below cannot overflow. */
    if (head->size != size || head->entries > size || head->slots > size ||
        head->workers > SEGMENT_WORKERS_MAX || head->row_size > size || head->text > size ||
        head->rows > size)
        return "its head is damaged";
    if (head->dictionary != sizeof *head || head->dictionary % 8 != 0 || head->rows % 8 != 0 ||
        head->row_size % 8 != 0 ||
        head->text < head->dictionary + head->entries * sizeof(struct segment_entry) ||
        head->rows < head->text ||
        head->row_size < sizeof(struct segment_worker) + head->slots * UINT64_C(8) ||
        head->size < head->rows + head->row_size * (head->workers + UINT64_C(2)))
        return "its head is damaged";
    return NULL;
}

static const char *dictionary_fault(const struct segment *segment)
{
    const struct segment_head *head = segment->head;
    uint64_t text_size = head->rows - head->text;

    if (head->entries != 0 && (text_size == 0 || ((const char *)head)[head->rows - 1] != '\0'))
        return "its dictionary is damaged";
    for (unsigned i = 0; i < head->entries; i++) {
        const struct segment_entry *entry = segment_entry(segment, i);
        if (entry->name >= text_size || entry->unit >= text_size || entry->doc >= text_size ||
            entry->kind > BT_HISTOGRAM || entry->slots != BT_SLOTS_(entry->kind) ||
            entry->slot > head->slots || entry->slots > head->slots - entry->slot)
            return "its dictionary is damaged";
    }
    return NULL;
}

bool segment_attach(struct segment *segment, int fd, bool writable, const char **why)
{
    struct stat st;

    *segment = (struct segment){.fd = -1};
    if (fstat(fd, &st) != 0)
        return *why = strerror(errno), false;
    if ((uint64_t)st.st_size < sizeof(struct segment_head))
        return *why = "it is too short to be a statistics segment", false;
    size_t size = (size_t)st.st_size;
    void *at = mmap(NULL, size, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return *why = strerror(errno), false;
    struct segment found = {.head = at, .size = size, .fd = fd};
    *why = head_fault(found.head, size);
    if (*why == NULL)
        *why = dictionary_fault(&found);
    if (*why != NULL) {
        munmap(at, size);
        return false;
    }
    *segment = found;
    return true;
}

void segment_close(struct segment *segment)
{
    if (segment->head == NULL)
        return;
    munmap(segment->head, segment->size);
    close(segment->fd);
    *segment = (struct segment){.fd = -1};
}

struct segment_worker *segment_worker(const struct segment *segment, unsigned row)
{
    CHECK(row <= segment->head->workers + 1);
    return (void *)((char *)segment->head + segment->head->rows + row * segment->head->row_size);
}

_Atomic int64_t *segment_row(const struct segment *segment, unsigned row)
{
    return (void *)(segment_worker(segment, row) + 1);
}

const struct segment_entry *segment_entry(const struct segment *segment, unsigned i)
{
    const char *first = (const char *)segment->head + segment->head->dictionary;

    return (const void *)(first + i * sizeof(struct segment_entry));
}

const char *segment_text(const struct segment *segment, uint32_t offset)
{
    return (const char *)segment->head + segment->head->text + offset;
}

void segment_clear_gauges(struct segment *segment, unsigned row)
{
    _Atomic int64_t *slots = segment_row(segment, row);

    for (unsigned i = 0; i < segment->head->entries; i++) {
        const struct segment_entry *entry = segment_entry(segment, i);
        if (entry->kind == BT_GAUGE)
            atomic_store_explicit(&slots[entry->slot], 0, memory_order_relaxed);
    }
}

static const struct segment_entry *entry_like(const struct segment *segment, const char *name,
                                              const struct segment_entry *other)
{
    for (unsigned i = 0; i < segment->head->entries; i++) {
        const struct segment_entry *entry = segment_entry(segment, i);
        if (entry->kind == other->kind && strcmp(segment_text(segment, entry->name), name) == 0)
            return entry;
    }
    return NULL;
}

static int64_t slot_sum(const struct segment *segment, uint32_t slot)
{
    int64_t sum = 0;

    for (unsigned row = 0; row <= segment->head->workers; row++)
        sum += atomic_load_explicit(&segment_row(segment, row)[slot], memory_order_relaxed);
    return sum;
}

void segment_take_over(struct segment *segment, struct segment *old)
{
    _Atomic int64_t *mine = segment_row(segment, 0);
    _Atomic int64_t *taken = segment_row(old, old->head->workers + 1);

    for (unsigned i = 0; i < old->head->entries; i++) {
        const struct segment_entry *from = segment_entry(old, i);
        const struct segment_entry *to = entry_like(segment, segment_text(old, from->name), from);
        if (to == NULL)
            continue;
        for (uint32_t s = 0; s < from->slots; s++) {
            int64_t more = slot_sum(old, from->slot + s) - taken[from->slot + s];
            bt_slot_add(&mine[to->slot + s], more);
            bt_slot_add(&taken[from->slot + s], more);
        }
    }
}
