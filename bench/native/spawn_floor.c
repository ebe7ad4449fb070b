/* The floor under a tool call: posix_spawn a program, give it stdin, read stdout and stderr, wait.
 *
 *     spawn_floor INPUT PROGRAM [ARG...]
 *
 * speaks the workers' protocol: prints `ready` after a warm-up, then for every count on stdin runs
 * the program that often and prints the nanoseconds that took. Stops with status 1 at the first
 * call that fails or answers nothing. An ARG @PATH is handed on as the number of a descriptor of
 * what lies there. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_HANDED 64

extern char **environ;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void feed(struct pollfd *pipe, const char *input, size_t length, size_t *sent) {
    ssize_t wrote = write(pipe->fd, input + *sent, length - *sent);
    if (wrote > 0)
        *sent += (size_t)wrote;
    if (wrote < 0 || *sent == length) {
        close(pipe->fd);
        pipe->fd = -1;
    }
}

static size_t drain(struct pollfd *pipe) {
    char buffer[65536];
    ssize_t got = read(pipe->fd, buffer, sizeof buffer);
    if (got > 0)
        return (size_t)got;
    close(pipe->fd);
    pipe->fd = -1;
    return 0;
}

/* The words of one call, and in `handed` the descriptors among them, ended by -1. */
static char **words_of(char **given, int *handed) {
    static char *words[1024], numbers[MOST_HANDED][16];
    int at = 0, count = 0;
    for (; given[at] && at < 1023; at++) {
        words[at] = given[at];
        if (given[at][0] == '@' && count < MOST_HANDED) {
            handed[count] = open(given[at] + 1, O_RDWR);
            if (handed[count] < 0)
                handed[count] = open(given[at] + 1, O_PATH);
            if (handed[count] < 0)
                fail(given[at]);
            snprintf(numbers[count], sizeof numbers[count], "%d", handed[count]);
            words[at] = numbers[count++];
        }
    }
    words[at] = NULL;
    handed[count] = -1;
    return words;
}

static void call(const char *input, char **given) {
    int handed[MOST_HANDED + 1];
    char **argv = words_of(given, handed);
    int in[2], out[2], err[2], status;
    size_t sent = 0, got = 0;
    pid_t child;
    posix_spawn_file_actions_t actions;

    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
        fail("pipe2");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    if (posix_spawn(&child, argv[0], &actions, NULL, argv, environ))
        fail(argv[0]);
    posix_spawn_file_actions_destroy(&actions);
    for (int *fd = handed; *fd >= 0; fd++)
        close(*fd);
    close(in[0]);
    close(out[1]);
    close(err[1]);

    struct pollfd pipes[3] = {{in[1], POLLOUT, 0}, {out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
    while (pipes[0].fd >= 0 || pipes[1].fd >= 0 || pipes[2].fd >= 0) {
        if (poll(pipes, 3, -1) < 0)
            fail("poll");
        if (pipes[0].fd >= 0 && pipes[0].revents)
            feed(&pipes[0], input, strlen(input), &sent);
        if (pipes[1].fd >= 0 && pipes[1].revents)
            got += drain(&pipes[1]);
        if (pipes[2].fd >= 0 && pipes[2].revents)
            drain(&pipes[2]);
    }
    if (waitpid(child, &status, 0) < 0)
        fail("waitpid");
    if (status != 0 || got == 0) {
        fprintf(stderr, "%s: status %d, %zu bytes\n", argv[0], status, got);
        exit(1);
    }
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int argc, char **argv) {
    char line[64];
    if (argc < 3) {
        fprintf(stderr, "usage: spawn_floor INPUT PROGRAM [ARG...]\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    for (int round = 0; round < 20; round++)
        call(argv[1], argv + 2);
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        long count = atol(line);
        long long start = now();
        for (long round = 0; round < count; round++)
            call(argv[1], argv + 2);
        printf("%lld\n", now() - start);
        fflush(stdout);
    }
    return 0;
}
