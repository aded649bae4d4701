package warp

import "golang.org/x/sys/unix"

var timed = map[int]timedCall{
	unix.SYS_NANOSLEEP:       {"nanosleep", 0, pointer},
	unix.SYS_CLOCK_NANOSLEEP: {"clock_nanosleep", 2, pointer},
	unix.SYS_PPOLL:           {"ppoll", 2, pointer},
	unix.SYS_PSELECT6:        {"pselect6", 4, pointer},
	unix.SYS_EPOLL_PWAIT:     {"epoll_pwait", 3, milliseconds},
	unix.SYS_EPOLL_PWAIT2:    {"epoll_pwait2", 3, pointer},
	unix.SYS_FUTEX:           {"futex", 3, futexTime},
	unix.SYS_RT_SIGTIMEDWAIT: {"rt_sigtimedwait", 2, pointer},
	unix.SYS_SEMTIMEDOP:      {"semtimedop", 3, pointer},
	unix.SYS_MQ_TIMEDRECEIVE: {"mq_timedreceive", 4, pointer},
	unix.SYS_MQ_TIMEDSEND:    {"mq_timedsend", 4, pointer},
	unix.SYS_IO_GETEVENTS:    {"io_getevents", 4, pointer},
	unix.SYS_RECVMMSG:        {"recvmmsg", 4, pointer},
	unix.SYS_FUTEX_WAITV:     {"futex_waitv", 3, pointer},
}
