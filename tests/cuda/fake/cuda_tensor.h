/* SPDX-License-Identifier: ISC */
/* What codegen_cuda/mma.cuh needs of a GPU, as a part of cuda_host.cc: products and loads of
 * fragments, by the lanes of a warp together, and copies that are there when they are waited for.
 * Source: PTX ISA, mma, ldmatrix, cp.async. */
/* 16 bytes of row g of a fragment, and of row g + 8: those of four lanes in turn. */
NX_PLAIN static void nx_host_gather(unsigned char *to, const unsigned (&own)[2], int first) {
  nx_host_show((unsigned long long)own[1] << 32 | own[0]);
  for (int lane = 0; lane < 4; lane++) {
    const unsigned long long said = nx_host_seen<unsigned long long>(first + lane);
    memcpy(to + 4 * lane, &said, 4);
    memcpy(to + 32 + 4 * lane, (const char *)&said + 4, 4);
  }
}
/* What a lane needs: rows[0] and [1] are rows g and g + 8, columns those of 2t and 2t + 1. */
struct nx_host_fragments {
  unsigned char rows[2][32], columns[2][32];
};
NX_PLAIN static void nx_host_meet(nx_host_fragments *f, const unsigned *a, const unsigned *b) {
  const int warp = nx_host_now & ~31, quad = nx_host_now & ~3, t = nx_host_now & 3;
  nx_host_gather(f->rows[0], {a[0], a[1]}, quad);
  nx_host_gather(f->rows[0] + 16, {a[2], a[3]}, quad);
  nx_host_show((unsigned long long)b[1] << 32 | b[0]);
  for (int lane = 0; lane < 8; lane++) {
    const unsigned long long said = nx_host_seen<unsigned long long>(warp + 8 * t + lane);
    memcpy(f->columns[lane / 4] + 4 * (lane & 3), &said, 4);
    memcpy(f->columns[lane / 4] + 16 + 4 * (lane & 3), (const char *)&said + 4, 4);
  }
}
NX_PLAIN void nx_host_mma(const char *text, int (&c)[4], const unsigned (&a)[4],
                          const unsigned *b) {
  char left, right;
  int end = 0;
  nx_host_fragments f;
  sscanf(text, "mma.sync.aligned.m16n8k32.row.col.s32.%c8.%c8.s32%n", &left, &right, &end);
  if (end == 0 || text[end] != 0) nx_host_unknown(text);
  nx_host_meet(&f, a, b);
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 32; k++) {
      const unsigned char x = f.rows[i / 2][k], y = f.columns[i % 2][k];
      const int p = (left == 's' ? (signed char)x : x) * (right == 's' ? (signed char)y : y);
      c[i] = (int)((unsigned)c[i] + (unsigned)p);
    }
}
/* Rounded once: the order of additions is nobody's to know. */
NX_PLAIN static double nx_host_half(const unsigned char *at, bool brain) {
  unsigned short bits;
  memcpy(&bits, at, sizeof bits);
  if (brain) {
    const unsigned wide = (unsigned)bits << 16;
    float x;
    memcpy(&x, &wide, sizeof x);
    return x;
  }
  _Float16 half;
  memcpy(&half, &bits, sizeof half);
  return (double)half;
}
NX_PLAIN void nx_host_mma(const char *text, float (&c)[4], const unsigned (&a)[4],
                          const unsigned *b) {
  nx_host_fragments f;
  const bool brain = strcmp(text, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") == 0;
  if (!brain && strcmp(text, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") != 0)
    nx_host_unknown(text);
  nx_host_meet(&f, a, b);
  for (int i = 0; i < 4; i++) {
    double sum = c[i];
    for (int k = 0; k < 32; k += 2)
      sum += nx_host_half(f.rows[i / 2] + k, brain) * nx_host_half(f.columns[i % 2] + k, brain);
    c[i] = (float)sum;
  }
}
NX_PLAIN void nx_host_ldmatrix(const char *text, unsigned (&to)[4], const void *at) {
  const bool turned = strcmp(text, "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16") == 0;
  const int warp = nx_host_now & ~31, lane = nx_host_now & 31;
  unsigned long long half[2];
  if (!turned && strcmp(text, "ldmatrix.sync.aligned.m8n8.x4.shared.b16") != 0)
    nx_host_unknown(text);
  const unsigned char *row = (const unsigned char *)at;
  if ((unsigned long long)at % 16 || row < nx_shared || row + 16 > nx_shared + NX_HOST_SHARED)
    abort();
  memcpy(half, at, sizeof half);
  for (int h = 0; h < 2; h++) {
    nx_host_show(half[h]);
    for (int i = 0; i < 4; i++)
      for (int part = 0; part < 2; part++) { /* 16 bits each */
        const int of = turned ? 2 * (lane & 3) + part : lane / 4,
                  element = turned ? lane / 4 : 2 * (lane & 3) + part;
        if (element / 4 != h) continue;
        const unsigned long long said = nx_host_seen<unsigned long long>(warp + 8 * i + of);
        memcpy((char *)&to[i] + 2 * part, (const char *)&said + 2 * (element & 3), 2);
      }
  }
}

/* What is copied is there when it is waited for, or by chance before; until then there is
 * nonsense. */
NX_PLAIN static void nx_host_copy_end(const nx_host_copy *c) {
  memset(c->to, 0, (size_t)c->size);
  memcpy(c->to, c->from, (size_t)c->bytes);
}
NX_PLAIN void nx_host_copy_start(const char *text, void *to, const void *from, int bytes) {
  nx_host_thread *t = &nx_host_threads[nx_host_now];
  const bool word = strcmp(text, "cp.async.ca.shared.global") == 0; /* of 4 bytes */
  const int size = word ? 4 : 16;
  if (!word && strcmp(text, "cp.async.cg.shared.global") != 0) nx_host_unknown(text);
  if ((unsigned long long)to % size || (unsigned long long)from % size || bytes < 0 ||
      bytes > size || t->n_copies == NX_HOST_COPIES || (unsigned char *)to < nx_shared ||
      (unsigned char *)to + size > nx_shared + NX_HOST_SHARED)
    abort();
  memset(to, 0xa5, (size_t)size);
  t->copies[t->n_copies++] = nx_host_copy{to, from, bytes, size, t->group};
}
NX_PLAIN void nx_host_copy_group(const char *text) {
  if (strcmp(text, "cp.async.commit_group") != 0) nx_host_unknown(text);
  nx_host_threads[nx_host_now].group++;
}
NX_PLAIN void nx_host_copy_wait(const char *text, int n) {
  nx_host_thread *t = &nx_host_threads[nx_host_now];
  int left = 0;
  if (strcmp(text, "cp.async.wait_group") != 0) nx_host_unknown(text);
  for (int i = 0; i < t->n_copies; i++)
    if (t->copies[i].group < t->group - n || nx_host_draw(2)) nx_host_copy_end(&t->copies[i]);
    else t->copies[left++] = t->copies[i];
  t->n_copies = left;
}
