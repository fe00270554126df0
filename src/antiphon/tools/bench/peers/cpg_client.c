/* A client of Corosync's closed process groups, for comparisons: it sends as fast as it may or at a
   steady rate, or receives and checks every message.

   cpg_client send SIZE RATE   RATE messages a second, 0: as fast as it may; then one message of kind
                               END; prints how many there were
   cpg_client receive SIZE 0   until END; prints messages and nanoseconds of the measured time, and
                               p50 of latency in nanoseconds, 0 unless they came at a steady rate

   Prints "ready" when it has joined, and reads one line: when the measured time begins and ends, and
   when the sender stops, in nanoseconds of CLOCK_MONOTONIC. */

#include <corosync/cpg.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE = 0, END = 1, VARIANTS = 16, CYCLE = 251, LATENCIES_MAX = 1 << 20 };

struct head {
    uint32_t kind;
    uint32_t number;
    uint64_t sent_ns; /* 0 if sent as fast as may be */
};

static size_t size;
static unsigned char *fillers[VARIANTS];
static uint64_t begin_ns, end_ns, stop_ns, began_at, ended_at;
static uint32_t next_number = 1, began_count, ended_count, rate;
static uint64_t *latencies;
static size_t latency_count;
static int is_in, is_over;

static uint64_t now_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static void fail(const char *what, int code) {
    fprintf(stderr, "cpg_client: %s (%d)\n", what, code);
    exit(1);
}

static void make_fillers(void) {
    for (int variant = 0; variant < VARIANTS; variant++) {
        fillers[variant] = malloc(size);
        for (size_t at = 0; at < size; at++)
            fillers[variant][at] = (unsigned char)((variant + at) % CYCLE);
    }
}

static void deliver(cpg_handle_t handle, const struct cpg_name *group, uint32_t node, uint32_t pid,
                    void *data, size_t length) {
    (void)handle, (void)group, (void)node, (void)pid;
    struct head head;
    if (length != size) fail("a message of another size", (int)length);
    memcpy(&head, data, sizeof head);
    if (head.kind == END) {
        is_over = 1;
        return;
    }
    if (head.number != next_number++) fail("a message out of its order", (int)head.number);
    const unsigned char *body = (const unsigned char *)data + sizeof head;
    if (memcmp(body, fillers[head.number % VARIANTS], size - sizeof head) != 0)
        fail("a message with other bytes than sent", (int)head.number);
    if (!head.sent_ns && head.number % 16 != 0) return;
    uint64_t now = now_ns();
    if (head.sent_ns && now >= begin_ns && now < end_ns && latency_count < LATENCIES_MAX)
        latencies[latency_count++] = now - head.sent_ns;
    if (!began_at && now >= begin_ns) began_at = now, began_count = head.number;
    if (!ended_at && now >= end_ns) ended_at = now, ended_count = head.number;
}

static void change(cpg_handle_t handle, const struct cpg_name *group,
                   const struct cpg_address *members, size_t count, const struct cpg_address *left,
                   size_t left_count, const struct cpg_address *joined, size_t joined_count) {
    (void)handle, (void)group, (void)members, (void)count, (void)left, (void)left_count;
    for (size_t at = 0; at < joined_count; at++)
        if (joined[at].pid == (uint32_t)getpid()) is_in = 1;
}

static cpg_handle_t join(void) {
    cpg_handle_t handle;
    cpg_callbacks_t callbacks = {.cpg_deliver_fn = deliver, .cpg_confchg_fn = change};
    struct cpg_name group = {.length = 5, .value = "bench"};
    cs_error_t code = cpg_initialize(&handle, &callbacks);
    if (code != CS_OK) fail("no daemon", code);
    while ((code = cpg_join(handle, &group)) == CS_ERR_TRY_AGAIN) poll(NULL, 0, 10);
    if (code != CS_OK) fail("no group", code);
    /* It is a member when it hears so: messages before that are not for it. */
    while (!is_in) cpg_dispatch(handle, CS_DISPATCH_ONE);
    puts("ready");
    fflush(stdout);
    return handle;
}

static void multicast(cpg_handle_t handle, uint32_t kind, uint32_t number, uint64_t sent_ns) {
    struct head head = {kind, number, sent_ns};
    struct iovec parts[2] = {
        {&head, sizeof head}, {fillers[number % VARIANTS], size - sizeof head}};
    cs_error_t code;
    while ((code = cpg_mcast_joined(handle, CPG_TYPE_AGREED, parts, 2)) == CS_ERR_TRY_AGAIN)
        cpg_dispatch(handle, CS_DISPATCH_ONE_NONBLOCKING);
    if (code != CS_OK) fail("not sent", code);
}

/* Its own messages come to a sender, too, and are taken while it waits. */
static void wait_until(cpg_handle_t handle, uint64_t due_ns) {
    uint64_t now = now_ns();
    if (now >= due_ns) return;
    struct timespec pause = {0, (long)(due_ns - now)}; /* less than a second */
    nanosleep(&pause, NULL);
    cpg_dispatch(handle, CS_DISPATCH_ALL);
}

static void send_all(cpg_handle_t handle) {
    uint32_t number = 0;
    uint64_t first_ns = now_ns();
    while (now_ns() < stop_ns) {
        if (rate) wait_until(handle, first_ns + number * 1000000000ull / rate);
        multicast(handle, MESSAGE, ++number, rate ? now_ns() : 0);
    }
    multicast(handle, END, number + 1, 0);
    while (!is_over) cpg_dispatch(handle, CS_DISPATCH_ONE);
    printf("%u\n", number);
}

static int by_length(const void *one, const void *other) {
    uint64_t first = *(const uint64_t *)one, second = *(const uint64_t *)other;
    return (first > second) - (first < second);
}

static uint64_t median_latency(void) {
    if (!latency_count) return 0;
    qsort(latencies, latency_count, sizeof *latencies, by_length);
    return latencies[latency_count / 2];
}

static void receive_all(cpg_handle_t handle) {
    while (!is_over) {
        cs_error_t code = cpg_dispatch(handle, CS_DISPATCH_ONE);
        if (code != CS_OK && code != CS_ERR_TRY_AGAIN) fail("lost the daemon", code);
    }
    if (!began_at || !ended_at) fail("nothing came in the measured time", 0);
    printf("%u %llu %llu\n", ended_count - began_count, (unsigned long long)(ended_at - began_at),
           (unsigned long long)median_latency());
}

static void await_cue(void) {
    unsigned long long begin, end, stop;
    if (scanf("%llu %llu %llu", &begin, &end, &stop) != 3) fail("no cue", 0);
    begin_ns = begin, end_ns = end, stop_ns = stop;
}

int main(int count, char **words) {
    if (count != 4) fail("usage: cpg_client send|receive SIZE RATE", count);
    size = strtoul(words[2], NULL, 10);
    rate = (uint32_t)strtoul(words[3], NULL, 10);
    if (size < sizeof(struct head)) fail("too small a size", (int)size);
    latencies = malloc(LATENCIES_MAX * sizeof *latencies);
    make_fillers();
    cpg_handle_t handle = join();
    await_cue();
    if (strcmp(words[1], "send") == 0)
        send_all(handle);
    else
        receive_all(handle);
    cpg_finalize(handle);
    return 0;
}
