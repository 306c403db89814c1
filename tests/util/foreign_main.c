/* SPDX-License-Identifier: ISC */
/* A program for another processor, run by an emulator: reads what a kernel needs from standard
 * input, calls the kernel that it is linked with, writes all buffers to standard output. Without a
 * C library, so that a compiler and a linker for that processor suffice to build it. foreign.c is
 * the other side. */
typedef unsigned long word;
typedef long number;

extern void nxt_kernel(void *const *buffers, const word *params, number begin, number end,
                       void *scratch);

enum { READ = 63, WRITE = 64, EXIT = 93, MOST_BUFFERS = 256, MOST_PARAMS = 16 };

static _Alignas(64) char memory[32 << 20];

static number call(number what, number a, number b, number c) {
  register number x8 __asm__("x8") = what, x0 __asm__("x0") = a, x1 __asm__("x1") = b,
                     x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
}

static void end(int status) {
  call(EXIT, status, 0, 0);
  __builtin_unreachable();
}

static void transfer(number what, int file, char *data, number bytes) {
  for (number done = 0; done < bytes;) {
    number n = call(what, file, (number)(data + done), bytes - done);
    if (n <= 0) end(3);
    done += n;
  }
}

static number read_word(void) {
  number n;
  transfer(READ, 0, (char *)&n, sizeof n);
  return n;
}

/* In: numbers of buffers and parameters, first and last task, bytes of scratch; parameters; bytes
 * and contents of each buffer. */
void nxt_main(void) {
  void *buffers[MOST_BUFFERS];
  number bytes[MOST_BUFFERS], n_buffers = read_word(), n_params = read_word();
  number first = read_word(), last = read_word(), scratch = read_word();
  word params[MOST_PARAMS];
  char *free = memory;
  if (n_buffers > MOST_BUFFERS || n_params > MOST_PARAMS) end(2);
  for (number i = 0; i < n_params; i++) params[i] = (word)read_word();
  for (number i = 0; i < n_buffers; i++) {
    bytes[i] = read_word();
    if (bytes[i] + 64 > memory + sizeof memory - free) end(2);
    buffers[i] = free;
    transfer(READ, 0, free, bytes[i]);
    free += (bytes[i] + 63) / 64 * 64;
  }
  if (scratch + 64 > memory + sizeof memory - free) end(2);
  nxt_kernel(buffers, params, first, last, free);
  for (number i = 0; i < n_buffers; i++) transfer(WRITE, 1, buffers[i], bytes[i]);
  end(0);
}

__asm__(".globl _start\n_start: mov x29, 0\n mov x30, 0\n b nxt_main\n");
