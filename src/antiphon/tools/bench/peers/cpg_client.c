/* A client of Corosync's closed process groups, for comparisons: it sends as fast as it may, or
   receives and checks every message.

   cpg_client send SIZE      then one message of kind END; prints how many there were
   cpg_client receive SIZE   until END; prints messages and nanoseconds of the measured time

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

enum { MESSAGE = 0, END = 1, VARIANTS = 16, CYCLE = 251 };

struct head {
    uint32_t kind;
    uint32_t number;
};

static size_t size;
static unsigned char *fillers[VARIANTS];
static uint64_t begin_ns, end_ns, stop_ns, began_at, ended_at;
static uint32_t next_number = 1, began_count, ended_count;
static int is_over;

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
    if (head.number % 16 != 0) return;
    uint64_t now = now_ns();
    if (!began_at && now >= begin_ns) began_at = now, began_count = head.number;
    if (!ended_at && now >= end_ns) ended_at = now, ended_count = head.number;
}

static void change(cpg_handle_t handle, const struct cpg_name *group,
                   const struct cpg_address *members, size_t count, const struct cpg_address *left,
                   size_t left_count, const struct cpg_address *joined, size_t joined_count) {
    (void)handle, (void)group, (void)members, (void)count, (void)left, (void)left_count;
    (void)joined, (void)joined_count;
}

static cpg_handle_t join(void) {
    cpg_handle_t handle;
    cpg_callbacks_t callbacks = {.cpg_deliver_fn = deliver, .cpg_confchg_fn = change};
    struct cpg_name group = {.length = 5, .value = "bench"};
    cs_error_t code = cpg_initialize(&handle, &callbacks);
    if (code != CS_OK) fail("no daemon", code);
    while ((code = cpg_join(handle, &group)) == CS_ERR_TRY_AGAIN) poll(NULL, 0, 10);
    if (code != CS_OK) fail("no group", code);
    puts("ready");
    fflush(stdout);
    return handle;
}

static void multicast(cpg_handle_t handle, uint32_t kind, uint32_t number) {
    struct head head = {kind, number};
    struct iovec parts[2] = {
        {&head, sizeof head}, {fillers[number % VARIANTS], size - sizeof head}};
    cs_error_t code;
    while ((code = cpg_mcast_joined(handle, CPG_TYPE_AGREED, parts, 2)) == CS_ERR_TRY_AGAIN)
        cpg_dispatch(handle, CS_DISPATCH_ONE_NONBLOCKING);
    if (code != CS_OK) fail("not sent", code);
}

static void send_all(cpg_handle_t handle) {
    uint32_t number = 0;
    while (now_ns() < stop_ns) multicast(handle, MESSAGE, ++number);
    multicast(handle, END, number + 1);
    while (!is_over) cpg_dispatch(handle, CS_DISPATCH_ONE);
    printf("%u\n", number);
}

static void receive_all(cpg_handle_t handle) {
    while (!is_over) {
        cs_error_t code = cpg_dispatch(handle, CS_DISPATCH_ONE);
        if (code != CS_OK && code != CS_ERR_TRY_AGAIN) fail("lost the daemon", code);
    }
    if (!began_at || !ended_at) fail("nothing came in the measured time", 0);
    printf("%u %llu\n", ended_count - began_count, (unsigned long long)(ended_at - began_at));
}

static void await_cue(void) {
    unsigned long long begin, end, stop;
    if (scanf("%llu %llu %llu", &begin, &end, &stop) != 3) fail("no cue", 0);
    begin_ns = begin, end_ns = end, stop_ns = stop;
}

int main(int count, char **words) {
    if (count != 3) fail("usage: cpg_client send|receive SIZE", count);
    size = strtoul(words[2], NULL, 10);
    if (size < sizeof(struct head)) fail("too small a size", (int)size);
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
