/* SPDX-License-Identifier: ISC */
/* The program of docs/tutorial/threads.md: threads that share a context, and a stop. */
#include <nx/nx.h>
#include <pthread.h>
#include <stdio.h>

typedef struct job {
  nx_context *context;
  nx_tensor *x; /* shared by all jobs */
  double power, sum;
} job;

/* The sum of x to some power. Each thread has its own scope and its own error. */
static void *work(void *argument) {
  job *j = argument;
  nx_scope *scope = nx_scope_begin(j->context);
  nx_tensor *powers = nx_binary_f64(j->x, NX_BINARY_POW, j->power);
  nx_tensor *sum = nx_reduce_sum(powers, NX_ALL_AXES, 0);
  nx_scalar item;
  if (nx_item(sum, NULL, 0, &item, NULL) == NX_OK) j->sum = item.v.f[0];
  nx_scope_end(scope);
  return NULL;
}

static void share(nx_context *context, nx_tensor *x) {
  pthread_t threads[3];
  job jobs[3];
  for (int i = 0; i < 3; i++) {
    jobs[i] = (job){context, x, i, 0};
    pthread_create(&threads[i], NULL, work, &jobs[i]);
  }
  for (int i = 0; i < 3; i++) {
    pthread_join(threads[i], NULL);
    printf("sum of x^%d: %g\n", i, jobs[i].sum);
  }
}

/* Called before the work begins and then every 20 ms at most, on the thread that asked for it. */
static int32_t stop(void *user) {
  int *polls = user;
  return ++*polls > 0;
}

static void interrupt(nx_tensor *x) {
  int polls = 0;
  nx_run_options options = {.size = sizeof options, .poll = stop, .user = &polls};
  nx_tensor *y = nx_reduce_sum(x, NX_AXES(0), 0);
  nx_scalar item;
  printf("with a poll that says stop: %s\n", nx_status_name(nx_item(y, NULL, 0, &item, &options)));
  nx_error_take(NULL);
  printf("again: %s\n", nx_status_name(nx_item(y, NULL, 0, &item, NULL)));
}

int main(void) {
  nx_context_options options = {.size = sizeof options, .threads = 2};
  nx_context *context;
  if (nx_context_create(&options, &context) != NX_OK) return 1;
  nx_scope *scope = nx_scope_begin(context);
  nx_tensor *x = nx_arange(context, 0, NX_F64, NX_NUMBER(1), NX_NUMBER(1), 100);
  share(context, x);
  interrupt(x);
  nx_scope_end(scope);
  nx_error error = {.size = sizeof error};
  if (nx_error_take(&error) != NX_OK) fprintf(stderr, "%s\n", error.message);
  nx_context_release(context);
  return error.status != NX_OK;
}
