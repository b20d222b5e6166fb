/* counts.h - the counters of the module; cache.c gives their rows to the server.
 *
 * Every request that has to do with the cache is counted by one of the results, in `cache.requests`
 * all together.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef CACHE_COUNTS_H
#define CACHE_COUNTS_H

#include "store.h"

#define RESULTS(X)                                                                                 \
    X(hits, "cache.hits", BT_COUNT, "requests", "Answered by a copy that was fresh.")              \
    X(not_modified, "cache.not_modified", BT_COUNT, "requests",                                    \
      "Told that what the client has is still good (304), by a copy that was "                     \
      "fresh.")                                                                                    \
    X(negative_hits, "cache.negative_hits", BT_COUNT, "requests",                                  \
      "Answered by an error that was kept (negative_ttl).")                                        \
    X(stale_hits, "cache.stale_hits", BT_COUNT, "requests",                                        \
      "Answered by a stale copy without asking: max-stale, "                                       \
      "stale-while-revalidate, "                                                                   \
      "offline_mode.")                                                                             \
    X(shared_hits, "cache.shared_hits", BT_COUNT, "requests",                                      \
      "Answered by what another request fetched at that time.")                                    \
    X(validated, "cache.validated", BT_COUNT, "requests",                                          \
      "A copy was still good, the origin said.")                                                   \
    X(modified, "cache.modified", BT_COUNT, "requests",                                            \
      "A copy was no longer good; the origin sent a new answer.")                                  \
    X(failed_old, "cache.failed_old", BT_COUNT, "requests",                                        \
      "The origin failed, and a stale copy stood in for it.")                                      \
    X(failed, "cache.failed", BT_COUNT, "requests",                                                \
      "The origin failed when it was asked about a stale copy, which could not "                   \
      "be served.")                                                                                \
    X(reloads, "cache.reloads", BT_COUNT, "requests", "Fetched anew since the client said so.")    \
    X(unavailable, "cache.unavailable", BT_COUNT, "requests",                                      \
      "only-if-cached, and there was nothing to serve (504).")                                     \
    X(misses, "cache.misses", BT_COUNT, "requests", "Fetched: there was no copy.")                 \
    X(bypassed, "cache.bypassed", BT_COUNT, "requests",                                            \
      "Nothing for a cache: other methods, requests with a body, `cache deny`.")

#define COUNTERS(X)                                                                                \
    RESULTS(X)                                                                                     \
    X(requests, "cache.requests", BT_COUNT, "requests", "Asked of the cache, all results.")        \
    X(bytes_saved, "cache.bytes_saved", BT_COUNT, "bytes",                                         \
      "Of bodies that went to clients and not through the network of an "                          \
      "origin.")                                                                                   \
    X(stored, "cache.stored", BT_COUNT, "objects", "Answers that were kept.")                      \
    X(stored_bytes, "cache.stored_bytes", BT_COUNT, "bytes", "Their bodies.")                      \
    X(renewed, "cache.renewed", BT_COUNT, "objects", "Copies that got a new life by a 304.")       \
    X(not_stored, "cache.not_stored", BT_COUNT, "objects",                                         \
      "Answers that may not be kept, by origin, client or configuration.")                         \
    X(too_large, "cache.too_large", BT_COUNT, "objects",                                           \
      "Answers not kept for their size (maximum_object_size_in_memory and "                        \
      "others).")                                                                                  \
    X(cut, "cache.cut", BT_COUNT, "objects",                                                       \
      "Answers not kept since they ended before their end.")                                       \
    X(overtaken, "cache.overtaken", BT_COUNT, "objects",                                           \
      "Answers not kept since they were changed, or purged, while they came.")                     \
    X(invalidated, "cache.invalidated", BT_COUNT, "objects",                                       \
      "Copies dropped by a request that changes something (POST, PUT ...).")                       \
    X(purged, "cache.purged", BT_COUNT, "objects", "Copies dropped by PURGE or bobtailctl.")       \
    X(background, "cache.background", BT_COUNT, "requests",                                        \
      "Validations in the background (stale-while-revalidate).")                                   \
    X(waited, "cache.waited", BT_COUNT, "requests", "Waited for the fetch of another.")            \
    X(released, "cache.released", BT_COUNT, "requests",                                            \
      "Waited in vain: the answer was not for others, or the fetch failed.")                       \
    X(variants_full, "cache.variants_full", BT_COUNT, "URLs",                                      \
      "All variants forgotten since there were too many (cache_variants_max).")                    \
    X(finished, "cache.finished", BT_COUNT, "fetches",                                             \
      "Finished although the client had left (quick_abort_min and others).")                       \
    X(bad_tags, "cache.bad_validations", BT_COUNT, "requests",                                     \
      "Fetched once more since the origin's 304 was about another version.")                       \
    X(store_ids, "cache.store_ids", BT_COUNT, "requests", "Keys that store_id_program gave.")      \
    X(store_ids_lost, "cache.store_ids_lost", BT_COUNT, "requests",                                \
      "Questions that store_id_program did not answer.")                                           \
    X(size, "cache.size", BT_GAUGE, "bytes", "Memory set aside (cache_mem).")                      \
    X(used, "cache.used", BT_GAUGE, "bytes", "Of it, what is in use.")                             \
    X(live, "cache.live", BT_GAUGE, "bytes", "Of that, what can be found, with its overhead.")     \
    X(bodies, "cache.bodies", BT_GAUGE, "bytes", "Heads and bodies of what can be found.")         \
    X(records, "cache.objects", BT_GAUGE, "objects", "What can be found.")                         \
    X(oldest, "cache.oldest", BT_GAUGE, "seconds",                                                 \
      "Since the oldest of it was kept: how long the memory reaches back when "                    \
      "it is full.")                                                                               \
    RAM_COUNTERS(X)
BT_COUNTERS(COUNTERS);

#endif
