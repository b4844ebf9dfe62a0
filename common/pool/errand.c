/* SPDX-License-Identifier: ISC */
/*
 * Errands: see pool.h. An errand that was not begun serves all jobs that need
 * the same. While one of an object runs, the next one gathers the jobs that come,
 * and begins when that has ended. So an object has one that runs and one that
 * gathers at most. The first errand that gathers leads: its memory is there until
 * all others of it have ended.
 * Runs in: the process that reads the network.
 */
#include "base/hash.h"
#include "pool/state.h"

static size_t
number_of(const void *object)
{
	return hash_mix((uintptr_t)object) % BUCKETS;
}

static struct errand_bucket *
bucket_of(struct rpc_pool *p, const void *object)
{
	return &p->errands[number_of(object)];
}

/* Returns the one that runs, or the one that gathers; NULL: there is none. */
static struct rpc_errand *
find_errand(struct rpc_pool *p, const void *object, bool runs)
{
	struct rpc_errand *e;

	LIST_FOREACH (e, bucket_of(p, object), bucket)
		if (e->object == object && e->job.begun == runs)
			break;
	return e;
}

static void
run_errand(struct rpc_job *job, unsigned int thread)
{
	struct rpc_errand *e = (struct rpc_errand *)(void *)job;

	e->result = e->run(e, thread);
}

/* A job that is held knows what it knew when it made its change. */
void
pool_run(const struct rpc_pool *p, struct rpc_job *job, unsigned int thread)
{
	if (!job->held)
		job->known = atomic_load(&p->nfailures);
	job->run(job, thread);
}

static void
remember_failure(struct rpc_pool *p, const struct rpc_errand *e)
{
	size_t i = number_of(e->object);

	p->failures[i] = e->lasting;
	p->failure_numbers[i] = atomic_fetch_add(&p->nfailures, 1) + 1;
}

/*
 * Returns the error that an errand of the object had since the job of e began to
 * run. The job made its change meanwhile, and only now leaves its errand. Objects
 * share a place: while a disk fails, an error may be told to a change of another.
 */
static int
missed_failure(const struct rpc_pool *p, const struct rpc_errand *e)
{
	size_t i = number_of(e->object);

	if ((int)(p->failure_numbers[i] - e->of->known) <= 0)
		return 0;
	return p->failures[i];
}

/* Lets the errand begin. New jobs join it until a thread takes it. */
static void
submit_errand(struct rpc_pool *p, struct rpc_errand *e)
{
	e->job = (struct rpc_job){
		.run = run_errand, .is_errand = true, .queue = e->of->queue
	};
	pool_add_errand(p, &e->job);
}

/* The job needs the errand: joins one, or leads a new one. */
static void
begin_errand(struct rpc_pool *p, struct rpc_errand *e)
{
	struct rpc_errand *leader = find_errand(p, e->object, false);

	e->earlier = missed_failure(p, e);
	if (leader != NULL) {
		STAILQ_INSERT_TAIL(&leader->others, e, entry);
		return;
	}
	STAILQ_INIT(&e->others);
	e->job.begun = false;
	LIST_INSERT_HEAD(bucket_of(p, e->object), e, bucket);
	if (find_errand(p, e->object, true) == NULL)
		submit_errand(p, e);
}

/* Begins all errands of the job, or the next one if they have an order. */
static void
begin_errands(struct rpc_pool *p, struct rpc_job *job)
{
	struct rpc_errand *e;

	do {
		e = &job->errands[job->nbegun++];
		e->of = job;
		job->npending++;
		begin_errand(p, e);
	} while (!job->in_order && job->nbegun < job->nerrands);
}

/* It keeps its place among the jobs that wait. */
static void
hold_job(struct rpc_pool *p, struct rpc_job *job)
{
	job->held = true;
	job->in->held_bytes += job->size;
	begin_errands(p, job);
}

/* One errand of a job has ended. If it was the last, the job runs once more. */
static void
release_job(struct rpc_pool *p, struct rpc_job *job, struct job_list *again)
{
	job->npending--;
	if (job->npending == 0 && job->nbegun < job->nerrands)
		begin_errands(p, job);
	if (job->npending > 0)
		return;
	job->in->held_bytes -= job->size;
	STAILQ_INSERT_TAIL(again, job, entry);
}

/* All that wait for next came while e ran, which had an error. */
static void
pass_on(const struct rpc_errand *e, struct rpc_errand *next)
{
	struct rpc_errand *other;

	next->earlier = e->lasting;
	STAILQ_FOREACH (other, &next->others, entry)
		other->earlier = e->lasting;
}

/* An errand has run for this one. */
static void
serve(struct rpc_pool *p, struct rpc_errand *one, int result,
    struct job_list *again)
{
	one->result = result != 0 ? result : one->earlier;
	release_job(p, one->of, again);
}

/*
 * The errand has run, for its own job and for others. The kernel tells an error of a
 * disk once, perhaps to an errand that was running when a change was made.
 */
static void
end_errand(struct rpc_pool *p, struct rpc_errand *e, struct job_list *again)
{
	struct rpc_errand *next, *other;

	pool_forget(p, &e->job);
	LIST_REMOVE(e, bucket);
	next = find_errand(p, e->object, false);
	if (e->lasting != 0) {
		remember_failure(p, e);
		if (next != NULL)
			pass_on(e, next);
	}
	if (next != NULL)
		submit_errand(p, next);
	STAILQ_FOREACH (other, &e->others, entry)
		serve(p, other, e->result, again);
	serve(p, e, e->result, again);
}

void
pool_sort_out(struct rpc_pool *p, struct job_list *jobs, struct job_list *done)
{
	struct job_list again = STAILQ_HEAD_INITIALIZER(again);
	struct rpc_job *job;

	while ((job = STAILQ_FIRST(jobs)) != NULL) {
		STAILQ_REMOVE_HEAD(jobs, entry);
		if (job->is_errand)
			end_errand(p, (struct rpc_errand *)(void *)job, &again);
		else if (job->nerrands > 0 && !job->held)
			hold_job(p, job);
		else
			STAILQ_INSERT_TAIL(done, job, entry);
	}
	STAILQ_CONCAT(jobs, &again);
}

bool
pool_hand_back(struct rpc_pool *p, struct job_list *jobs)
{
	bool none = STAILQ_EMPTY(&p->finished);

	pool_sort_out(p, jobs, &p->finished);
	return none && !STAILQ_EMPTY(&p->finished);
}
