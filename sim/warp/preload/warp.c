// The library that processes of the world are started with (LD_PRELOAD). It stands before libc: clocks read the
// world's time from memory that it shares with simrun, and whoever waits for a time waits without one, and leaves the
// time in that memory. simrun wakes the waiter when the world's time has come so far.
//
// It is written for glibc on Linux. What it wraps is what interpreters, the JVM, libuv and Redis wait with. A wait
// that it does not wrap is found by simrun, in /proc, and ends the run.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#ifndef __GLIBC__
#error "the library is written for glibc"
#endif

// ---- What is shared with simrun; shared_linux.go has the same.

enum { SLOTS = 8192, PROCESSES = 1024, PORTS = 256, NOTE = 256 };

enum { FREE, WAITING, SIGNALLED, EXPIRED }; // a slot's state

enum { SLEEPS = 1, POLLS, TIMER }; // kinds of slots

struct slot {
	_Atomic uint32_t pid; // 0: nobody's
	_Atomic uint32_t tid;
	_Atomic uint32_t state; // who sleeps waits on this word while it is WAITING
	_Atomic uint32_t kind;
	_Atomic uint64_t deadline; // in ns since 1970
	_Atomic uint64_t every;    // of a TIMER, in ns
	_Atomic uint64_t address;  // of what may wake it before
	uint64_t unused[3];
};

struct process {
	_Atomic uint32_t pid;
	_Atomic uint32_t spawned; // it has started others, or is about to
	_Atomic uint64_t ahead;   // in ns: by how much its clock of the day is before the world's
};

struct shared {
	uint32_t version;
	_Atomic uint32_t slots; // the highest that was ever taken, plus 1
	_Atomic uint64_t now;   // in ns since 1970
	uint64_t began;         // the same, at the beginning
	_Atomic uint32_t noted; // note has a text
	_Atomic uint32_t births; // processes that are about to enter themselves
	_Atomic uint32_t noter;  // the process that left the note
	uint32_t unused;
	char note[NOTE]; // what cannot be had, and ends the run
	_Atomic uint32_t ports[PORTS]; // those that lead into the world; 0: no more
	struct process processes[PROCESSES];
	struct slot slot[SLOTS];
};

enum { VERSION = 2 };

static struct shared *world; // NULL: the process runs in real time
static char folder[80];      // of the sockets
static struct process *self;

static __thread struct slot *mine;
static __thread int bell = -1; // an eventfd, with which simrun wakes who polls
static pthread_key_t leaving;

// ---- libc's own functions

#define REAL(name) static __typeof__(name) *real_##name
REAL(clock_gettime);
REAL(pthread_cond_init);
REAL(pthread_cond_signal);
REAL(pthread_cond_broadcast);
REAL(pthread_cond_timedwait);
static int (*real_pthread_cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
REAL(pthread_mutex_timedlock);
REAL(sem_post);
REAL(sem_timedwait);
static int (*real_sem_clockwait)(sem_t *, clockid_t, const struct timespec *);
REAL(poll);
REAL(ppoll);
REAL(select);
REAL(pselect);
REAL(epoll_wait);
REAL(epoll_pwait);
REAL(nanosleep);
REAL(clock_nanosleep);
REAL(connect);
REAL(socket);
REAL(read);
REAL(readv);
REAL(recv);
REAL(recvfrom);
REAL(recvmsg);
REAL(setsockopt);
REAL(getsockopt);
REAL(getsockname);
REAL(getpeername);
REAL(timerfd_create);
REAL(timerfd_settime);
REAL(timerfd_gettime);
REAL(alarm);
REAL(timer_create);
REAL(setitimer);
REAL(posix_spawn);
REAL(posix_spawnp);
REAL(system);
REAL(popen);
REAL(fopen);
REAL(fopen64);
static long (*real_syscall)(long, ...);

static void *find(const char *name) { return dlsym(RTLD_NEXT, name); }

// Conditions have had two forms; the old one is what dlsym may find.
static void *find_condition(const char *name) {
	void *f = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
	return f ? f : find(name);
}

static void find_all(void) {
	if (real_clock_gettime)
		return;
#define FIND(name) real_##name = (__typeof__(real_##name))find(#name)
#define FIND_CONDITION(name) real_##name = (__typeof__(real_##name))find_condition(#name)
	FIND_CONDITION(pthread_cond_init);
	FIND_CONDITION(pthread_cond_signal);
	FIND_CONDITION(pthread_cond_broadcast);
	FIND_CONDITION(pthread_cond_timedwait);
	FIND(pthread_cond_clockwait);
	FIND(pthread_mutex_timedlock);
	FIND(sem_post);
	FIND(sem_timedwait);
	FIND(sem_clockwait);
	FIND(poll);
	FIND(ppoll);
	FIND(select);
	FIND(pselect);
	FIND(epoll_wait);
	FIND(epoll_pwait);
	FIND(nanosleep);
	FIND(clock_nanosleep);
	FIND(connect);
	FIND(socket);
	FIND(read);
	FIND(readv);
	FIND(recv);
	FIND(recvfrom);
	FIND(recvmsg);
	FIND(setsockopt);
	FIND(getsockopt);
	FIND(getsockname);
	FIND(getpeername);
	FIND(timerfd_create);
	FIND(timerfd_settime);
	FIND(timerfd_gettime);
	FIND(alarm);
	FIND(timer_create);
	FIND(setitimer);
	FIND(posix_spawn);
	FIND(posix_spawnp);
	FIND(system);
	FIND(fopen);
	FIND(fopen64);
	FIND(popen);
	FIND(syscall);
	FIND(clock_gettime);
}

// ---- Beginning

// note leaves a text for simrun, which ends the run. The first one counts.
static void note(const char *text) {
	uint32_t none = 0;
	if (!world || !atomic_compare_exchange_strong(&world->noted, &none, 1))
		return;
	snprintf(world->note, NOTE, "%s", text);
	atomic_store(&world->noter, getpid());
	atomic_store(&world->noted, 2);
}

// clock_of is by how much the clock of a process is ahead.
static uint64_t clock_of(uint32_t pid) {
	for (int i = 0; i < PROCESSES; i++)
		if (atomic_load(&world->processes[i].pid) == pid)
			return atomic_load(&world->processes[i].ahead);
	return 0;
}

static void enter_process(void) {
	uint32_t pid = getpid();
	for (uint32_t i = 0; i < atomic_load(&world->slots); i++) // of what it was before execve
		if (atomic_load(&world->slot[i].pid) == pid) {
			atomic_store(&world->slot[i].state, FREE);
			atomic_store(&world->slot[i].pid, 0);
		}
	for (int i = 0; i < PROCESSES; i++)
		if (atomic_load(&world->processes[i].pid) == pid) {
			self = &world->processes[i];
			return;
		}
	for (int i = 0; i < PROCESSES; i++) {
		uint32_t none = 0;
		if (atomic_compare_exchange_strong(&world->processes[i].pid, &none, pid)) {
			self = &world->processes[i];
			atomic_store(&self->ahead, clock_of(getppid()));
			return;
		}
	}
	note("more than 1024 processes");
}

static void leave_thread(void *unused) {
	(void)unused;
	if (mine) {
		atomic_store(&mine->state, FREE);
		atomic_store(&mine->pid, 0);
		mine = NULL;
	}
	if (bell >= 0) {
		close(bell);
		bell = -1;
	}
}

static _Atomic int waiting[256]; // slots of this process, by the address that they wait at

static void before_fork(void) {
	if (!world)
		return;
	atomic_fetch_add(&world->births, 1);
}

static void child_forked(void) {
	if (!world)
		return;
	mine = NULL;
	if (bell >= 0)
		close(bell);
	bell = -1;
	memset(waiting, 0, sizeof waiting);
	enter_process();
	atomic_fetch_sub(&world->births, 1);
}

__attribute__((constructor)) static void begin(void) {
	find_all();
	const char *place = getenv("HOLDFAST_WARP");
	if (world || !place || strlen(place) >= sizeof folder)
		return;
	char file[sizeof folder + 16];
	snprintf(file, sizeof file, "%s/shared", place);
	int fd = open(file, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	struct shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (s == MAP_FAILED || s->version != VERSION)
		return;
	strcpy(folder, place);
	pthread_key_create(&leaving, leave_thread);
	world = s;
	enter_process();
	pthread_atfork(before_fork, NULL, child_forked);
}

// ---- Time

static const uint64_t second = 1000000000;

static uint64_t now(void) { return atomic_load(&world->now); }

enum { UP = 1000 }; // seconds that the machine had been up when the world began

// offset is what to add to a clock's time to get the world's; it reports whether the clock is the world's. A clock of the day may
// have been set forward for this process.
static int offset(clockid_t clock, int64_t *add) {
	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_REALTIME_ALARM:
	case CLOCK_TAI:
		*add = self ? -(int64_t)atomic_load(&self->ahead) : 0;
		return 1;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
	case CLOCK_BOOTTIME_ALARM:
		*add = (int64_t)world->began - (int64_t)UP * second;
		return 1;
	}
	return 0; // processor time
}

static uint64_t in_ns(const struct timespec *t) {
	if (t->tv_sec < 0)
		return 0;
	if ((uint64_t)t->tv_sec >= INT64_MAX / second)
		return INT64_MAX;
	return (uint64_t)t->tv_sec * second + t->tv_nsec;
}

static struct timespec in_timespec(uint64_t ns) {
	return (struct timespec){.tv_sec = ns / second, .tv_nsec = ns % second};
}

// later is a time so much later, or the latest there is.
static uint64_t later(uint64_t at, uint64_t by) { return by > INT64_MAX - at ? INT64_MAX : at + by; }

// until is the world's time at which a clock shows t.
static uint64_t until(clockid_t clock, const struct timespec *t) {
	int64_t add = 0;
	offset(clock, &add);
	uint64_t ns = in_ns(t);
	if (ns == INT64_MAX)
		return ns;
	if (add < 0)
		return ns > (uint64_t)-add ? ns + add : 0;
	return later(ns, add);
}

static int sleep_until(uint64_t deadline);

enum { READS = 1000, NAPS = 16 };

static __thread struct {
	uint64_t last; // the time that it read last
	int reads;     // how often
	int naps;
} reader;

// watched is the time, for a thread that reads it. Who reads it again and again waits for it to pass, as Netty does for
// the last microseconds until a timer is due. After many reads such a thread sleeps, for longer each time. It does so no
// more when it has slept for a tenth of a second in all: then it spins, and simrun says so.
static uint64_t watched(void) {
	uint64_t t = now();
	if (t != reader.last) {
		reader.last = t;
		reader.reads = reader.naps = 0;
	}
	if (++reader.reads > READS && reader.naps < NAPS) {
		reader.reads = 0;
		sleep_until(t + ((uint64_t)1000 << reader.naps++));
		reader.last = t = now();
	}
	return t;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
	find_all();
	int64_t add;
	if (!world || !offset(clock, &add))
		return real_clock_gettime(clock, t);
	*t = in_timespec(watched() - add);
	return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
	struct timespec s;
	clock_gettime(CLOCK_REALTIME, &s);
	*t = (struct timeval){.tv_sec = s.tv_sec, .tv_usec = s.tv_nsec / 1000};
	if (zone)
		memset(zone, 0, sizeof(struct timezone));
	return 0;
}

time_t time(time_t *t) {
	struct timespec s;
	clock_gettime(CLOCK_REALTIME, &s);
	if (t)
		*t = s.tv_sec;
	return s.tv_sec;
}

int timespec_get(struct timespec *t, int base) {
	if (base != TIME_UTC)
		return 0;
	clock_gettime(CLOCK_REALTIME, t);
	return base;
}

// ---- Slots

static long futex(_Atomic uint32_t *word, int op, uint32_t value) {
	return real_syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static struct slot *take_slot(void) {
	uint32_t pid = getpid();
	for (uint32_t i = 0; i < SLOTS; i++) {
		uint32_t none = 0;
		if (!atomic_compare_exchange_strong(&world->slot[i].pid, &none, pid))
			continue;
		atomic_store(&world->slot[i].state, FREE);
		uint32_t most = atomic_load(&world->slots);
		while (most < i + 1 && !atomic_compare_exchange_weak(&world->slots, &most, i + 1))
			;
		return &world->slot[i];
	}
	note("more than 8192 threads and timers wait");
	abort();
}

static struct slot *own_slot(void) {
	if (!mine) {
		mine = take_slot();
		atomic_store(&mine->tid, (uint32_t)real_syscall(SYS_gettid));
		pthread_setspecific(leaving, mine);
	}
	return mine;
}

static _Atomic int *waiters(uint64_t address) { return &waiting[(address >> 4 ^ address >> 12) % 256]; }

// lie says that this thread waits until a time, at an address if it is not 0.
static struct slot *lie(int kind, uint64_t deadline, uint64_t address) {
	struct slot *s = own_slot();
	atomic_store(&s->kind, kind);
	atomic_store(&s->deadline, deadline);
	atomic_store(&s->address, address);
	if (address)
		atomic_fetch_add(waiters(address), 1);
	atomic_store(&s->state, WAITING);
	return s;
}

// rise says that it waits no more, and returns why: SIGNALLED, EXPIRED, or WAITING if for neither.
static int rise(struct slot *s) {
	uint64_t address = atomic_load(&s->address);
	int why = atomic_exchange(&s->state, FREE);
	if (address)
		atomic_fetch_sub(waiters(address), 1);
	return why;
}

// doze blocks until the slot is woken, or a signal was handled: then it returns EINTR.
static int doze(struct slot *s) {
	while (atomic_load(&s->state) == WAITING)
		if (futex(&s->state, FUTEX_WAIT, WAITING) < 0 && errno == EINTR)
			return EINTR;
	return 0;
}

// wake wakes up to that many of this process's threads that wait at an address, and returns how many.
static int wake(uint64_t address, int most) {
	int woken = 0;
	atomic_thread_fence(memory_order_seq_cst);
	if (!world || atomic_load(waiters(address)) == 0)
		return 0;
	uint32_t pid = getpid(), slots = atomic_load(&world->slots);
	for (uint32_t i = 0; i < slots && woken < most; i++) {
		struct slot *s = &world->slot[i];
		uint32_t is = WAITING;
		if (atomic_load(&s->pid) != pid || atomic_load(&s->address) != address)
			continue;
		if (!atomic_compare_exchange_strong(&s->state, &is, SIGNALLED))
			continue;
		futex(&s->state, FUTEX_WAKE, 1);
		woken++;
	}
	return woken;
}

// ---- Sleeping

static int sleep_until(uint64_t deadline) {
	if (deadline <= now())
		return 0;
	struct slot *s = lie(SLEEPS, deadline, 0);
	int err = doze(s);
	rise(s);
	return err;
}

int nanosleep(const struct timespec *d, struct timespec *rest) {
	find_all();
	if (!world)
		return real_nanosleep(d, rest);
	if (d->tv_sec < 0 || d->tv_nsec < 0 || d->tv_nsec >= (long)second) {
		errno = EINVAL;
		return -1;
	}
	uint64_t deadline = later(now(), in_ns(d));
	if (sleep_until(deadline) == 0)
		return 0;
	if (rest)
		*rest = in_timespec(deadline > now() ? deadline - now() : 0);
	errno = EINTR;
	return -1;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *d, struct timespec *rest) {
	find_all();
	int64_t add;
	if (!world || !offset(clock, &add))
		return real_clock_nanosleep(clock, flags, d, rest);
	if (d->tv_nsec < 0 || d->tv_nsec >= (long)second)
		return EINVAL;
	if (flags & TIMER_ABSTIME)
		return sleep_until(until(clock, d));
	return nanosleep(d, rest) == 0 ? 0 : errno;
}

int usleep(useconds_t us) {
	struct timespec d = in_timespec((uint64_t)us * 1000);
	return nanosleep(&d, NULL);
}

unsigned sleep(unsigned s) {
	struct timespec d = {.tv_sec = s}, rest = {0};
	return nanosleep(&d, &rest) == 0 ? 0 : rest.tv_sec + (rest.tv_nsec > 0);
}

int thrd_sleep(const struct timespec *d, struct timespec *rest) {
	return nanosleep(d, rest) == 0 ? 0 : errno == EINTR ? -1 : -2;
}

// ---- Conditions. Who waits for a time waits in its slot, all others in the condition itself. A signal is for one of
// the latter, and wakes all of the former, which is allowed: a wait may end without a reason.

static int wait_in_slot(pthread_cond_t *c, pthread_mutex_t *m, uint64_t deadline) {
	if (deadline <= now()) {
		int err = pthread_mutex_unlock(m); // others must be let in even so
		return err ? err : (err = pthread_mutex_lock(m)) ? err : ETIMEDOUT;
	}
	struct slot *s = lie(SLEEPS, deadline, (uintptr_t)c);
	int err = pthread_mutex_unlock(m);
	if (err == 0) {
		while (doze(s) == EINTR)
			;
	}
	int why = rise(s);
	if (err == 0)
		err = pthread_mutex_lock(m);
	return err ? err : why == EXPIRED ? ETIMEDOUT : 0;
}

static int bad(const struct timespec *t) { return t->tv_nsec < 0 || t->tv_nsec >= (long)second; }

int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *t) {
	find_all();
	if (!world)
		return real_pthread_cond_clockwait(c, m, clock, t);
	return bad(t) ? EINVAL : wait_in_slot(c, m, until(clock, t));
}

int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t) {
	find_all();
	if (!world)
		return real_pthread_cond_timedwait(c, m, t);
	// The second bit says which clock pthread_cond_init chose.
	return bad(t) ? EINVAL : wait_in_slot(c, m, until(c->__data.__wrefs & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME, t));
}

int pthread_cond_signal(pthread_cond_t *c) {
	find_all();
	int err = real_pthread_cond_signal(c);
	wake((uintptr_t)c, INT_MAX);
	return err;
}

int pthread_cond_broadcast(pthread_cond_t *c) {
	find_all();
	int err = real_pthread_cond_broadcast(c);
	wake((uintptr_t)c, INT_MAX);
	return err;
}

int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m, const struct timespec *restrict t) {
	int err = pthread_cond_timedwait((pthread_cond_t *)c, (pthread_mutex_t *)m, t);
	return err == 0 ? thrd_success : err == ETIMEDOUT ? thrd_timedout : thrd_error;
}

// Mutexes are tried every millisecond of the world: hardly anybody waits for one with a time.
static int lock_until(pthread_mutex_t *m, uint64_t deadline) {
	for (;;) {
		int err = pthread_mutex_trylock(m);
		if (err != EBUSY)
			return err;
		if (deadline <= now())
			return ETIMEDOUT;
		uint64_t next = now() + 1000000;
		sleep_until(next < deadline ? next : deadline);
	}
}

int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *t) {
	find_all();
	return world ? lock_until(m, until(CLOCK_REALTIME, t)) : real_pthread_mutex_timedlock(m, t);
}

int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *t) {
	find_all();
	return world ? lock_until(m, until(clock, t)) : real_pthread_mutex_timedlock(m, t);
}

// ---- Semaphores

static int take_until(sem_t *sem, uint64_t deadline) {
	for (;;) {
		if (sem_trywait(sem) == 0)
			return 0;
		if (errno != EAGAIN)
			return -1;
		if (deadline <= now()) {
			errno = ETIMEDOUT;
			return -1;
		}
		struct slot *s = lie(SLEEPS, deadline, (uintptr_t)sem);
		int err = 0;
		if (sem_trywait(sem) == 0) { // posted before it was known that somebody waits
			rise(s);
			return 0;
		}
		err = doze(s);
		rise(s);
		if (err) {
			errno = err;
			return -1;
		}
	}
}

int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict t) {
	find_all();
	return world ? take_until(sem, until(CLOCK_REALTIME, t)) : real_sem_timedwait(sem, t);
}

int sem_clockwait(sem_t *restrict sem, clockid_t clock, const struct timespec *restrict t) {
	find_all();
	return world ? take_until(sem, until(clock, t)) : real_sem_clockwait(sem, clock, t);
}

int sem_post(sem_t *sem) {
	find_all();
	int err = real_sem_post(sem);
	wake((uintptr_t)sem, INT_MAX);
	return err;
}

// ---- Polling. Who polls polls one file more, an eventfd, of which simrun has a copy.

// hand gives simrun a copy of a file, for a slot.
static int hand(uint32_t slot, int fd) {
	int c = real_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c < 0)
		return -1;
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	snprintf(a.sun_path, sizeof a.sun_path, "%s/bells", folder);
	union {
		char space[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	memset(&control, 0, sizeof control);
	struct iovec data = {&slot, sizeof slot};
	struct msghdr m = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(h), &fd, sizeof fd);
	int ok = real_connect(c, (struct sockaddr *)&a, sizeof a) == 0 && sendmsg(c, &m, MSG_NOSIGNAL) == sizeof slot;
	close(c);
	return ok ? 0 : -1;
}

static int own_bell(void) {
	struct slot *s = own_slot();
	if (bell >= 0)
		return bell;
	bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (bell < 0 || hand(s - world->slot, bell) < 0) {
		note("simrun cannot be reached by its socket, or there are too few files");
		abort();
	}
	return bell;
}

static void hush(void) {
	uint64_t count;
	if (read(bell, &count, sizeof count) < 0)
		return;
}

// ppoll_until polls files until a time; the result is that of poll with no time, or -1.
static int ppoll_until(struct pollfd *files, nfds_t n, uint64_t deadline, const sigset_t *mask) {
	struct pollfd few[16], *all = few;
	int saved;
	if (n + 1 > 16 && !(all = malloc((n + 1) * sizeof *all))) {
		errno = ENOMEM;
		return -1;
	}
	own_bell();
	hush();
	memcpy(all, files, n * sizeof *all);
	all[n] = (struct pollfd){.fd = bell, .events = POLLIN};
	struct slot *s = lie(POLLS, deadline, 0);
	int r = real_ppoll(all, n + 1, NULL, mask);
	saved = errno;
	rise(s);
	if (r >= 0 && all[n].revents & POLLNVAL) { // the program has closed what it did not open
		bell = -1;
		all[n].revents = 0;
	}
	if (r >= 0 && all[n].revents) {
		hush();
		r--;
	}
	if (r > 0)
		memcpy(files, all, n * sizeof *all);
	if (r == 0)
		for (nfds_t i = 0; i < n; i++)
			files[i].revents = 0;
	if (all != few)
		free(all);
	errno = saved;
	return r;
}

int ppoll(struct pollfd *files, nfds_t n, const struct timespec *t, const sigset_t *mask) {
	find_all();
	if (!world || !t || in_ns(t) == 0)
		return real_ppoll(files, n, t, mask);
	static const struct timespec none;
	int r = real_ppoll(files, n, &none, mask);
	return r ? r : ppoll_until(files, n, later(now(), in_ns(t)), mask);
}

int poll(struct pollfd *files, nfds_t n, int ms) {
	find_all();
	if (!world || ms <= 0)
		return real_poll(files, n, ms);
	struct timespec t = in_timespec((uint64_t)ms * 1000000);
	return ppoll(files, n, &t, NULL);
}

int __poll_chk(struct pollfd *files, nfds_t n, int ms, size_t size) {
	(void)size;
	return poll(files, n, ms);
}

int __ppoll_chk(struct pollfd *files, nfds_t n, const struct timespec *t, const sigset_t *mask, size_t size) {
	(void)size;
	return ppoll(files, n, t, mask);
}

static int epoll_until(int fd, struct epoll_event *events, int most, uint64_t deadline, const sigset_t *mask) {
	for (;;) {
		int r = real_epoll_pwait(fd, events, most, 0, mask);
		if (r != 0 || deadline <= now())
			return r;
		struct pollfd file = {.fd = fd, .events = POLLIN};
		if (ppoll_until(&file, 1, deadline, mask) < 0)
			return -1;
	}
}

int epoll_pwait(int fd, struct epoll_event *events, int most, int ms, const sigset_t *mask) {
	find_all();
	if (!world || ms <= 0)
		return real_epoll_pwait(fd, events, most, ms, mask);
	return epoll_until(fd, events, most, later(now(), (uint64_t)ms * 1000000), mask);
}

int epoll_wait(int fd, struct epoll_event *events, int most, int ms) {
	find_all();
	return world ? epoll_pwait(fd, events, most, ms, NULL) : real_epoll_wait(fd, events, most, ms);
}

int epoll_pwait2(int fd, struct epoll_event *events, int most, const struct timespec *t, const sigset_t *mask) {
	find_all();
	if (!t)
		return real_epoll_pwait(fd, events, most, -1, mask);
	if (!world)
		return real_syscall(SYS_epoll_pwait2, fd, events, most, t, mask, _NSIG / 8);
	return epoll_until(fd, events, most, later(now(), in_ns(t)), mask);
}

int pselect(int n, fd_set *in, fd_set *out, fd_set *odd, const struct timespec *t, const sigset_t *mask) {
	find_all();
	if (!world || !t || in_ns(t) == 0 || n > FD_SETSIZE)
		return real_pselect(n, in, out, odd, t, mask);
	uint64_t deadline = later(now(), in_ns(t));
	struct pollfd files[FD_SETSIZE];
	nfds_t many = 0;
	for (int fd = 0; fd < n; fd++) {
		short events = 0;
		if (in && FD_ISSET(fd, in))
			events |= POLLIN;
		if (out && FD_ISSET(fd, out))
			events |= POLLOUT;
		if (odd && FD_ISSET(fd, odd))
			events |= POLLPRI;
		if (events)
			files[many++] = (struct pollfd){.fd = fd, .events = events};
	}
	for (;;) {
		static const struct timespec none;
		fd_set now_in, now_out, now_odd;
		if (in)
			now_in = *in;
		if (out)
			now_out = *out;
		if (odd)
			now_odd = *odd;
		int r = real_pselect(n, in ? &now_in : NULL, out ? &now_out : NULL, odd ? &now_odd : NULL, &none, mask);
		if (r < 0)
			return r;
		if (r > 0 || deadline <= now()) {
			if (in)
				*in = now_in;
			if (out)
				*out = now_out;
			if (odd)
				*odd = now_odd;
			return r;
		}
		if (ppoll_until(files, many, deadline, mask) < 0)
			return -1;
	}
}

int select(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict odd, struct timeval *restrict t) {
	find_all();
	if (!world || !t)
		return real_select(n, in, out, odd, t);
	if (t->tv_sec < 0 || t->tv_usec < 0) {
		errno = EINVAL;
		return -1;
	}
	struct timespec d = {.tv_sec = t->tv_sec + t->tv_usec / 1000000, .tv_nsec = t->tv_usec % 1000000 * 1000};
	uint64_t deadline = later(now(), in_ns(&d));
	int r = pselect(n, in, out, odd, &d, NULL);
	uint64_t rest = deadline > now() ? deadline - now() : 0; // which Linux tells
	*t = (struct timeval){.tv_sec = rest / second, .tv_usec = rest % second / 1000};
	return r;
}

// ---- Timers that are files: eventfds, to which simrun writes what is due.

enum { FILES = 65536 };
static _Atomic uint32_t timer_of[FILES]; // the slot, plus 1

static struct slot *timer(int fd) {
	uint32_t i = fd >= 0 && fd < FILES ? atomic_load(&timer_of[fd]) : 0;
	return i && atomic_load(&world->slot[i - 1].pid) == (uint32_t)getpid() ? &world->slot[i - 1] : NULL;
}

int timerfd_create(int clock, int flags) {
	find_all();
	if (!world)
		return real_timerfd_create(clock, flags);
	int fd = eventfd(0, (flags & TFD_NONBLOCK ? EFD_NONBLOCK : 0) | (flags & TFD_CLOEXEC ? EFD_CLOEXEC : 0));
	if (fd < 0)
		return fd;
	if (fd >= FILES) {
		close(fd);
		errno = EMFILE;
		return -1;
	}
	struct slot *s = take_slot();
	atomic_store(&s->kind, TIMER);
	atomic_store(&s->tid, 0);
	atomic_store(&s->every, 0);
	atomic_store(&s->address, (uint64_t)clock); // which clock its times are of
	if (hand(s - world->slot, fd) < 0) {
		note("simrun cannot be reached by its socket");
		abort();
	}
	atomic_store(&timer_of[fd], s - world->slot + 1);
	return fd;
}

int timerfd_gettime(int fd, struct itimerspec *is) {
	find_all();
	struct slot *s = world ? timer(fd) : NULL;
	if (!s)
		return real_timerfd_gettime(fd, is);
	uint64_t at = atomic_load(&s->deadline);
	is->it_interval = in_timespec(atomic_load(&s->every));
	is->it_value = in_timespec(atomic_load(&s->state) == WAITING && at > now() ? at - now() : 0);
	return 0;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *to, struct itimerspec *was) {
	find_all();
	struct slot *s = world ? timer(fd) : NULL;
	if (!s)
		return real_timerfd_settime(fd, flags, to, was);
	if (was)
		timerfd_gettime(fd, was);
	atomic_store(&s->state, FREE);
	int fl = fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, fl | O_NONBLOCK);
	uint64_t count;
	if (read(fd, &count, sizeof count) < 0)
		count = 0;
	fcntl(fd, F_SETFL, fl);
	if (in_ns(&to->it_value) == 0)
		return 0;
	atomic_store(&s->every, in_ns(&to->it_interval));
	atomic_store(&s->deadline, flags & TFD_TIMER_ABSTIME ? until(atomic_load(&s->address), &to->it_value) : later(now(), in_ns(&to->it_value)));
	atomic_store(&s->state, WAITING);
	return 0;
}

// ---- System calls that are made by their number

static long futex_until(uint32_t *word, uint32_t value, uint64_t deadline) {
	if (deadline <= now()) {
		errno = __atomic_load_n(word, __ATOMIC_SEQ_CST) == value ? ETIMEDOUT : EAGAIN;
		return -1;
	}
	struct slot *s = lie(SLEEPS, deadline, (uintptr_t)word);
	atomic_thread_fence(memory_order_seq_cst);
	if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value) {
		rise(s);
		errno = EAGAIN;
		return -1;
	}
	int err = doze(s), why = rise(s);
	if (why == SIGNALLED)
		return 0;
	errno = why == EXPIRED ? ETIMEDOUT : err;
	return -1;
}

long syscall(long number, ...) {
	find_all();
	va_list list;
	va_start(list, number);
	long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long), d = va_arg(list, long), e = va_arg(list, long), f = va_arg(list, long);
	va_end(list);
	if (!world)
		return real_syscall(number, a, b, c, d, e, f);
	switch (number) {
	case SYS_futex: {
		int op = b & FUTEX_CMD_MASK;
		if (op == FUTEX_WAKE || op == FUTEX_WAKE_BITSET) {
			long woken = real_syscall(number, a, b, c, d, e, f);
			return woken < 0 ? woken : woken + wake(a, c - woken);
		}
		if ((op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET) || !d)
			break;
		const struct timespec *t = (const struct timespec *)d;
		uint64_t at = op == FUTEX_WAIT ? later(now(), in_ns(t)) : until(b & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC, t);
		return futex_until((uint32_t *)a, c, at);
	}
	case SYS_clock_gettime:
		return clock_gettime(a, (struct timespec *)b);
	case SYS_clock_nanosleep: {
		int err = clock_nanosleep(a, b, (const struct timespec *)c, (struct timespec *)d);
		if (err)
			errno = err;
		return err ? -1 : 0;
	}
#ifdef SYS_gettimeofday
	case SYS_gettimeofday:
		return gettimeofday((struct timeval *)a, (void *)b);
#endif
#ifdef SYS_time
	case SYS_time:
		return time((time_t *)a);
#endif
#ifdef SYS_nanosleep
	case SYS_nanosleep:
		return nanosleep((const struct timespec *)a, (struct timespec *)b);
#endif
#ifdef SYS_poll
	case SYS_poll:
		return poll((struct pollfd *)a, b, c);
#endif
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
		return epoll_wait(a, (struct epoll_event *)b, c, d);
#endif
	case SYS_epoll_pwait:
		return epoll_pwait(a, (struct epoll_event *)b, c, d, (const sigset_t *)e);
	case SYS_ppoll:
		return ppoll((struct pollfd *)a, b, (const struct timespec *)c, (const sigset_t *)d);
	case SYS_io_uring_setup: // what it does is nobody's wait
		errno = ENOSYS;
		return -1;
	}
	return real_syscall(number, a, b, c, d, e, f);
}

// ---- Sockets. A connection to the world is a Unix socket that looks like one of TCP.

struct looks {
	_Atomic uint32_t port;
	_Atomic uint32_t family;
};
static struct looks looks[FILES];

static struct looks *looks_of(int fd) {
	return world && fd >= 0 && fd < FILES && atomic_load(&looks[fd].port) ? &looks[fd] : NULL;
}

// A socket's patience is how long a read of it waits, SO_RCVTIMEO, in ns. The file tells whether the number is still that
// of the same socket.
static struct {
	_Atomic uint64_t ns;
	_Atomic uint64_t file;
} patience[FILES];

static uint64_t file_of(int fd) {
	struct stat is;
	return fstat(fd, &is) < 0 ? 0 : is.st_ino;
}

static void set_patience(int fd, uint64_t ns) {
	if (fd < 0 || fd >= FILES || (ns == 0 && atomic_load(&patience[fd].ns) == 0))
		return;
	atomic_store(&patience[fd].file, file_of(fd));
	atomic_store(&patience[fd].ns, ns);
}

static uint64_t patience_of(int fd) {
	if (!world || fd < 0 || fd >= FILES || !atomic_load(&patience[fd].ns))
		return 0;
	int was = errno;
	uint64_t ns = atomic_load(&patience[fd].file) == file_of(fd) ? atomic_load(&patience[fd].ns) : 0;
	errno = was;
	return ns;
}

// lost_patience waits until there is something to read, or patience is over.
static int lost_patience(int fd, int flags) {
	find_all();
	uint64_t ns = patience_of(fd);
	if (!ns || flags & MSG_DONTWAIT || fcntl(fd, F_GETFL) & O_NONBLOCK)
		return 0;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	struct timespec t = in_timespec(ns);
	int r = ppoll(&p, 1, &t, NULL);
	if (r == 0)
		errno = EAGAIN;
	return r <= 0;
}

ssize_t read(int fd, void *b, size_t n) { return lost_patience(fd, 0) ? -1 : real_read(fd, b, n); }

ssize_t readv(int fd, const struct iovec *v, int n) { return lost_patience(fd, 0) ? -1 : real_readv(fd, v, n); }

ssize_t recv(int fd, void *b, size_t n, int flags) { return lost_patience(fd, flags) ? -1 : real_recv(fd, b, n, flags); }

ssize_t recvfrom(int fd, void *restrict b, size_t n, int flags, struct sockaddr *restrict a, socklen_t *restrict size) {
	return lost_patience(fd, flags) ? -1 : real_recvfrom(fd, b, n, flags, a, size);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags) { return lost_patience(fd, flags) ? -1 : real_recvmsg(fd, m, flags); }

ssize_t __read_chk(int fd, void *b, size_t n, size_t size) {
	(void)size;
	return read(fd, b, n);
}

ssize_t __recv_chk(int fd, void *b, size_t n, size_t size, int flags) {
	(void)size;
	return recv(fd, b, n, flags);
}

ssize_t __recvfrom_chk(int fd, void *restrict b, size_t n, size_t size, int flags, struct sockaddr *restrict a, socklen_t *restrict asize) {
	(void)size;
	return recvfrom(fd, b, n, flags, a, asize);
}

int socket(int family, int type, int protocol) {
	find_all();
	int fd = real_socket(family, type, protocol);
	if (fd >= 0 && fd < FILES)
		atomic_store(&looks[fd].port, 0);
	return fd;
}

// port_of is the port of this machine that an address names, or 0.
static uint32_t port_of(const struct sockaddr *a, socklen_t size) {
	if (a->sa_family == AF_INET && size >= sizeof(struct sockaddr_in)) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)a;
		return ntohl(in->sin_addr.s_addr) >> 24 == 127 ? ntohs(in->sin_port) : 0;
	}
	if (a->sa_family == AF_INET6 && size >= sizeof(struct sockaddr_in6)) {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)a;
		return IN6_IS_ADDR_V4MAPPED(&in->sin6_addr) && in->sin6_addr.s6_addr[12] == 127 ? ntohs(in->sin6_port) : 0;
	}
	return 0;
}

int connect(int fd, const struct sockaddr *a, socklen_t size) {
	find_all();
	if (!world || !a || (a->sa_family != AF_INET && a->sa_family != AF_INET6))
		return real_connect(fd, a, size);
	int type = 0;
	socklen_t n = sizeof type;
	if (real_getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) < 0 || type != SOCK_STREAM)
		return real_connect(fd, a, size);
	uint32_t port = port_of(a, size), i = 0;
	while (port && i < PORTS && atomic_load(&world->ports[i]) != port && atomic_load(&world->ports[i]))
		i++;
	if (!port || i == PORTS || !atomic_load(&world->ports[i])) {
		char text[NOTE], host[INET6_ADDRSTRLEN] = "?";
		const void *address = a->sa_family == AF_INET ? (const void *)&((const struct sockaddr_in *)a)->sin_addr : (const void *)&((const struct sockaddr_in6 *)a)->sin6_addr;
		inet_ntop(a->sa_family, address, host, sizeof host);
		uint16_t to = ntohs(a->sa_family == AF_INET ? ((const struct sockaddr_in *)a)->sin_port : ((const struct sockaddr_in6 *)a)->sin6_port);
		snprintf(text, sizeof text, "connects to %s, port %d, which is not of the world", host, to);
		note(text);
		errno = ECONNREFUSED;
		return -1;
	}
	int was = fcntl(fd, F_GETFL), closes = fcntl(fd, F_GETFD) & FD_CLOEXEC;
	int c = real_socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un u = {.sun_family = AF_UNIX};
	snprintf(u.sun_path, sizeof u.sun_path, "%s/%u", folder, port);
	if (c < 0 || real_connect(c, (struct sockaddr *)&u, sizeof u) < 0) {
		if (c >= 0)
			close(c);
		errno = ECONNREFUSED;
		return -1;
	}
	fcntl(c, F_SETFL, was);
	uint64_t patience = patience_of(fd);
	int err = dup3(c, fd, closes ? O_CLOEXEC : 0);
	close(c);
	if (err < 0)
		return -1;
	set_patience(fd, patience);
	if (fd < FILES) {
		atomic_store(&looks[fd].family, a->sa_family);
		atomic_store(&looks[fd].port, port);
	}
	return 0;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size) {
	find_all();
	if (world && level == SOL_SOCKET && (name == SO_RCVTIMEO || name == SO_SNDTIMEO) && size >= sizeof(struct timeval)) {
		const struct timeval *t = value;
		if (name == SO_RCVTIMEO) // to write takes no time here
			set_patience(fd, (uint64_t)t->tv_sec * second + (uint64_t)t->tv_usec * 1000);
		return 0;
	}
	if (looks_of(fd) && level != SOL_SOCKET)
		return 0;
	return real_setsockopt(fd, level, name, value, size);
}

int getsockopt(int fd, int level, int name, void *restrict value, socklen_t *restrict size) {
	find_all();
	if (world && level == SOL_SOCKET && name == SO_RCVTIMEO && *size >= sizeof(struct timeval)) {
		uint64_t ns = patience_of(fd);
		*(struct timeval *)value = (struct timeval){ns / second, ns % second / 1000};
		*size = sizeof(struct timeval);
		return 0;
	}
	struct looks *l = looks_of(fd);
	if (l && level != SOL_SOCKET) {
		memset(value, 0, *size);
		return 0;
	}
	if (l && name == SO_DOMAIN && *size >= sizeof(int)) {
		*(int *)value = atomic_load(&l->family);
		return 0;
	}
	return real_getsockopt(fd, level, name, value, size);
}

static int shown(struct looks *l, uint32_t port, struct sockaddr *a, socklen_t *size) {
	union {
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} is;
	memset(&is, 0, sizeof is);
	socklen_t n = sizeof is.in;
	if (atomic_load(&l->family) == AF_INET) {
		is.in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	} else {
		n = sizeof is.in6;
		is.in6.sin6_family = AF_INET6;
		is.in6.sin6_port = htons(port);
		memcpy(&is.in6.sin6_addr, "\0\0\0\0\0\0\0\0\0\0\377\377\177\0\0\1", 16);
	}
	memcpy(a, &is, n < *size ? n : *size);
	*size = n;
	return 0;
}

int getpeername(int fd, struct sockaddr *restrict a, socklen_t *restrict size) {
	find_all();
	struct looks *l = looks_of(fd);
	return l ? shown(l, atomic_load(&l->port), a, size) : real_getpeername(fd, a, size);
}

int getsockname(int fd, struct sockaddr *restrict a, socklen_t *restrict size) {
	find_all();
	struct looks *l = looks_of(fd);
	return l ? shown(l, 20000 + fd, a, size) : real_getsockname(fd, a, size);
}

// ---- What ends the run

unsigned alarm(unsigned s) {
	find_all();
	if (world && s)
		note("calls alarm, a wait that the library does not know");
	return world ? 0 : real_alarm(s);
}

int timer_create(clockid_t clock, struct sigevent *restrict e, timer_t *restrict t) {
	find_all();
	int64_t add;
	if (world && offset(clock, &add))
		note("calls timer_create, a wait that the library does not know");
	return real_timer_create(clock, e, t);
}

int setitimer(__itimer_which_t which, const struct itimerval *restrict to, struct itimerval *restrict was) {
	find_all();
	if (world && which == ITIMER_REAL && (to->it_value.tv_sec || to->it_value.tv_usec))
		note("calls setitimer, a wait that the library does not know");
	return real_setitimer(which, to, was);
}

// ---- The processor's own counter goes on in real time, and no library stands before the instruction that reads it.
// Programs use it if /proc/cpuinfo says that it counts evenly, which it therefore does not say here. Valkey does so.

static FILE *without_counter(void) {
	static const char flag[] = "constant_tsc";
	FILE *from = real_fopen("/proc/cpuinfo", "re"), *to = tmpfile();
	char *line = NULL;
	size_t size = 0;
	for (ssize_t n; from && to && (n = getline(&line, &size, from)) > 0;) {
		for (char *at = line; (at = strstr(at, flag));)
			memset(at, ' ', sizeof flag - 1);
		fwrite(line, 1, (size_t)n, to);
	}
	free(line);
	if (from)
		fclose(from);
	if (to)
		rewind(to);
	return to;
}

FILE *fopen(const char *restrict path, const char *restrict mode) {
	find_all();
	return world && !strcmp(path, "/proc/cpuinfo") ? without_counter() : real_fopen(path, mode);
}

FILE *fopen64(const char *restrict path, const char *restrict mode) {
	find_all();
	return world && !strcmp(path, "/proc/cpuinfo") ? without_counter() : real_fopen64(path, mode);
}

// ---- Processes that a process starts. Who forks enters the child; for the others simrun asks the kernel.

static void spawns(void) {
	find_all();
	if (self)
		atomic_store(&self->spawned, 1);
}

// What is done between vfork and exec can be done after fork as well.
pid_t vfork(void) { return fork(); }

int posix_spawn(pid_t *restrict pid, const char *restrict file, const posix_spawn_file_actions_t *restrict actions,
		const posix_spawnattr_t *restrict attributes, char *const args[restrict], char *const env[restrict]) {
	spawns();
	return real_posix_spawn(pid, file, actions, attributes, args, env);
}

int posix_spawnp(pid_t *restrict pid, const char *restrict file, const posix_spawn_file_actions_t *restrict actions,
		 const posix_spawnattr_t *restrict attributes, char *const args[restrict], char *const env[restrict]) {
	spawns();
	return real_posix_spawnp(pid, file, actions, attributes, args, env);
}

int system(const char *command) {
	spawns();
	return real_system(command);
}

FILE *popen(const char *command, const char *type) {
	spawns();
	return real_popen(command, type);
}
