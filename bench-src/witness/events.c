/* events: the proc connector of Linux. */
#include "witness/events.h"

#include "witness/ask.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_MS = 50, EXECUTED = 2, ACKNOWLEDGED = 0 }; /* PROC_EVENT_EXEC and _NONE, which headers place differently */

union datagram {
    struct nlmsghdr head;
    char bytes[4096];
};

/* What happened; a message of the kernel has it at an address that is not aligned for it. */
static struct proc_event event_of(const struct cn_msg *message)
{
    struct proc_event event;
    memcpy(&event, message->data, sizeof event);
    return event;
}

/* Whether the kernel has accepted: where it may not, it does not even answer. What others have asked for arrives here too, with
 * the answers to them. */
static bool accepted(int fd, uint32_t number)
{
    int64_t until_us = ask_now_us() + ANSWER_MS * 1000, left_us;
    union datagram got;
    struct pollfd ready = {fd, POLLIN, 0};
    while ((left_us = until_us - ask_now_us()) > 0 && poll(&ready, 1, (int)(left_us / 1000) + 1) == 1 &&
           recv(fd, &got, sizeof got, MSG_DONTWAIT) > 0) {
        const struct cn_msg *message = NLMSG_DATA(&got.head);
        const struct proc_event event = event_of(message);
        if ((int)event.what == ACKNOWLEDGED && message->ack == number + 1)
            return event.event_data.ack.err == 0;
    }
    return false;
}

/* Has the kernel drop what is not asked for: processes that begin, end or change their names are most of what happens on a busy
 * node. A filter reads in the order of the network's bytes. Without it the same is dropped here. */
static void filter(int fd)
{
    enum { WHAT = NLMSG_HDRLEN + offsetof(struct cn_msg, data) + offsetof(struct proc_event, what) };
    struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, WHAT),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(EXECUTED), 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(ACKNOWLEDGED), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = {sizeof instructions / sizeof *instructions, instructions};
    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

int events_open(void)
{
    struct {
        struct nlmsghdr head;
        struct cn_msg message;
        int wanted;
    } __attribute__((packed)) ask = {
        .head = {.nlmsg_len = sizeof ask, .nlmsg_type = NLMSG_DONE},
        .message = {.id = {CN_IDX_PROC, CN_VAL_PROC}, .ack = (uint32_t)ask_now_us(), .len = sizeof(int)},
        .wanted = PROC_CN_MCAST_LISTEN,
    };
    struct sockaddr_nl here = {.nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC};
    int fd = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);
    if (fd < 0)
        return -1;
    filter(fd);
    if (bind(fd, (struct sockaddr *)&here, sizeof here) == 0 && send(fd, &ask, sizeof ask, 0) == (ssize_t)sizeof ask && accepted(fd, ask.message.ack))
        return fd;
    close(fd);
    return -1;
}

bool events_take(int socket, void (*with)(void *to, pid_t pid), void *to)
{
    union datagram got;
    ssize_t bytes;
    while ((bytes = recv(socket, &got, sizeof got, MSG_DONTWAIT)) > 0) {
        if (!NLMSG_OK(&got.head, (size_t)bytes))
            continue;
        const struct cn_msg *message = NLMSG_DATA(&got.head);
        const struct proc_event event = event_of(message);
        if ((int)event.what == EXECUTED)
            with(to, event.event_data.exec.process_pid);
    }
    return bytes >= 0 || errno != ENOBUFS;
}
