/* SPDX-License-Identifier: ISC */
/*
 * The load generator's command line. One line of JSON per run.
 * Runs in: make bench and by hand; load -h prints the usage.
 */
#include <sys/resource.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

#define PIDS_MAX 16

struct options {
	const char *address;
	const char *export;
	const char *work;
	uint16_t port, mountport, tunnel, lockport;
	bool handshakes;
	bool others; /* the server is everything that is not this process */
	double warm, seconds;
	int pids[PIDS_MAX];
	size_t npids;
};

/* CPU time of servers and client when counting began. */
static struct load_usage before;
static uint64_t own_before;
static struct options opt = {
	.address = "127.0.0.1", .port = 2049, .warm = 0.3, .seconds = 1.5
};

static void
usage(void)
{
	fprintf(stderr,
	    "usage: load [-uc2OT] [-a address] [-A n] [-b n] [-p port] "
	    "[-m mountport] [-L lockport] [-n files]\n"
	    "            [-s seconds] [-w warm-up] [-P server-pid] [-D port] -e export "
	    "workload[@CONNSxDEPTH]\n"
	    "       load [-n files] -t directory    (make the tree there)\n"
	    "       load -l              (list the workloads)\n"
	    "-u UDP, -2 version 2, -c compare what is read, -b come from "
	    "so many addresses,\n"
	    "-A only so many of the connections work, the others are idle,\n"
	    "-O count the CPU of all other processes, on a machine with one "
	    "CPU,\n"
	    "-T inside TLS, -D in a tunnel of TLS at that port; the workload "
	    "\"handshake\" connects\n");
	exit(2);
}

/* What the servers used until now. */
static struct load_usage
server_usage(void)
{
	struct load_usage u = load_usage_of(opt.pids, opt.npids);

	if (opt.others)
		u.cpu_ns = load_others_ns();
	return u;
}

static void
started(struct load *l)
{
	(void)l;
	before = server_usage();
	own_before = load_own_ns();
}

static void
set_address(struct load *l, const char *text, uint16_t port)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *ai;
	char service[8];

	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(text, service, &hints, &ai) != 0)
		errx(1, "%s: not an address", text);
	memcpy(&l->to, ai->ai_addr, ai->ai_addrlen);
	l->to_len = ai->ai_addrlen;
	freeaddrinfo(ai);
}

/* "getattr@4x8" */
static void
set_work(struct load *l, char *spec)
{
	char *at = strchr(spec, '@');

	l->conns = 4;
	l->depth = 8;
	if (at != NULL) {
		*at++ = '\0';
		if (sscanf(at, "%ux%u", &l->conns, &l->depth) != 2)
			usage();
	}
	if (l->conns < 1 || l->conns > LOAD_CONNS_MAX || l->depth < 1 ||
	    l->depth > LOAD_SLOTS_MAX)
		errx(1, "connections up to %d, outstanding up to %d",
		    LOAD_CONNS_MAX, LOAD_SLOTS_MAX);
	opt.handshakes = strcmp(spec, "handshake") == 0;
	if ((l->work = load_work_find(opt.handshakes ? "null" : spec)) == NULL)
		errx(1, "no workload %s: load -l lists them", spec);
	if (l->active == 0 || l->active > l->conns)
		l->active = l->conns;
}

static uint16_t
port_of(const char *text)
{
	return (uint16_t)strtoul(text, NULL, 10);
}

static void
add_pid(const char *text)
{
	if (opt.npids < PIDS_MAX)
		opt.pids[opt.npids++] = (int)strtol(text, NULL, 10);
}

/* Sets what needs no value. */
static bool
is_flag(struct load *l, int c)
{
	if (c == '2')
		l->vers = 2;
	else if (c == 'c')
		l->verify = true;
	else if (c == 'O')
		opt.others = true;
	else if (c == 'T')
		l->tls = LOAD_STARTTLS;
	else if (c == 'u')
		l->udp = true;
	else
		return false;
	return true;
}

static void
parse(struct load *l, int argc, char *argv[])
{
	int c;

	while ((c = getopt(argc, argv, "2A:a:b:cD:e:L:lm:n:Op:P:s:Tt:uw:")) !=
	    -1)
		switch (c) {
		case 'A':
			l->active = (unsigned int)strtoul(optarg, NULL, 10);
			break;
		case 'a':
			opt.address = optarg;
			break;
		case 'b':
			l->sources = (unsigned int)strtoul(optarg, NULL, 10);
			break;
		case 'D':
			l->tls = LOAD_TUNNEL;
			opt.tunnel = port_of(optarg);
			break;
		case 'e':
			opt.export = optarg;
			break;
		case 'L':
			opt.lockport = port_of(optarg);
			break;
		case 'l':
			load_work_list();
			exit(0);
		case 'm':
			opt.mountport = port_of(optarg);
			break;
		case 'n':
			l->nfiles = (unsigned int)strtoul(optarg, NULL, 10);
			break;
		case 'p':
			opt.port = port_of(optarg);
			break;
		case 'P':
			add_pid(optarg);
			break;
		case 's':
			opt.seconds = strtod(optarg, NULL);
			break;
		case 't':
			exit(load_tree_make(optarg, l->nfiles) == 0 ? 0 : 1);
		case 'w':
			opt.warm = strtod(optarg, NULL);
			break;
		default:
			if (!is_flag(l, c))
				usage();
		}
}

static void
report(const struct load *l)
{
	struct load_usage after = server_usage();
	double s = l->elapsed, ops = l->ops > 0 ? (double)l->ops : 1;

	printf("{\"work\": \"%s\", \"vers\": %u, \"proto\": \"%s\", "
	       "\"conns\": %u, \"depth\": %u, ",
	    opt.handshakes ? "handshake" : l->work->name, l->vers,
	    l->udp ? "udp" : "tcp", l->conns, l->depth);
	printf("\"seconds\": %.3f, \"ops_s\": %.0f, \"units_s\": %.0f, "
	       "\"mb_s\": %.1f, ",
	    s, (double)l->ops / s, (double)l->units / s,
	    (double)l->bytes / s / 1e6);
	printf("\"p50_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f, ",
	    load_times_us(l->times, 0.50), load_times_us(l->times, 0.99),
	    load_times_us(l->times, 1.0));
	printf("\"cpu_us_op\": %.2f, \"rss_kib\": %llu, \"processes\": %u, "
	       "\"client_us_op\": %.2f, ",
	    (double)(after.cpu_ns - before.cpu_ns) / 1e3 / ops,
	    (unsigned long long)after.rss_kib, after.processes,
	    (double)(load_own_ns() - own_before) / 1e3 / ops);
	printf(
	    "\"retrans\": %llu, \"errors\": %llu, \"first_error\": \"%s\"}\n",
	    (unsigned long long)l->retrans, (unsigned long long)l->errors,
	    l->first_error);
}

int
main(int argc, char *argv[])
{
	static struct load l = { .vers = 3, .nfiles = LOAD_FILES };
	struct rlimit files = { LOAD_CONNS_MAX + 64, LOAD_CONNS_MAX + 64 };

	parse(&l, argc, argv);
	if (optind + 1 != argc || opt.export == NULL)
		usage();
	set_work(&l, argv[optind]);
	set_address(&l, opt.address, opt.port);
	if (setrlimit(RLIMIT_NOFILE, &files) == -1) {
		getrlimit(RLIMIT_NOFILE, &files);
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	l.state = load_now_ns();
	l.times = load_times_new();
	l.started = started;
	if (l.times == NULL ||
	    load_tree_find(&l, opt.export, opt.mountport) == -1)
		errx(1, "cannot use the export");
	if (l.work->needs & LOAD_NEEDS_LOCKS)
		set_address(&l, opt.address, opt.lockport);
	if (opt.tunnel != 0) /* the tree was found beside the tunnel */
		set_address(&l, opt.address, opt.tunnel);
	if ((opt.handshakes ? load_tls_handshakes(&l, opt.seconds) :
			      load_run(&l, opt.warm, opt.seconds)) == -1)
		err(1, "connections");
	report(&l);
	return l.errors != 0 || l.ops == 0;
}
