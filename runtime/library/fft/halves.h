/* SPDX-License-Identifier: ISC */
/* Spectra of n real numbers and transforms of half = n / 2 pairs of them; included once for each
 * width.
 *
 * z is the transform of the pairs (x[2 j], x[2 j + 1]), s the spectrum, w = exp(-2 pi i k / n):
 *   s[k] = e + o, s[half - k] = conj(e - o), e = (z[k] + conj z[half - k]) / 2, o = -i w (z[k] -
 *   conj z[half - k]) / 2 z[k] = e + o, z[half - k] = conj(e - o), e = s[k] + conj s[half - k], o =
 *   i conj(w) (s[k] - conj s[half - k])
 * where the second is twice what the first undoes. */

/* a, b: numbers k and half - k, before and after. */
static INLINE void NAME(split_step)(C *a, C *b, C w) {
  const V half = NAME(splat)((REAL)0.5);
  C e = {half * (a->re + b->re), half * (a->im - b->im)};
  C o = {half * (a->im + b->im), half * (b->re - a->re)};
  o = NAME(times)(o, w);
  *a = NAME(plus)(e, o);
  *b = (C){e.re - o.re, o.im - e.im};
}

static INLINE void NAME(join_step)(C *a, C *b, C w) {
  C e = {a->re + b->re, a->im - b->im},
    d = {b->im + a->im, a->re - b->re}; /* d: i times the difference */
  d.re = -d.re;
  C o = NAME(times)(d, (C){w.re, -w.im});
  *a = NAME(plus)(e, o);
  *b = (C){e.re - o.re, o.im - e.im};
}

/* Several transforms side by side: rows of z are planar, rows of s are pairs, or planar too, and
 * then may be those of z and one more: each step writes the numbers that it has read. */
static INLINE void NAME(lanes_of_halves)(const nxi_fft_half_lanes *pass, const bool join) {
  const nxi_fft_half_lanes p = *pass;
  const NAME(side) z = NAME(side_of)(&p.planar), s = NAME(side_of)(&p.pairs);
  const REAL *unit = p.unit;
  int64_t due = due_of(p.ahead);
  for (int64_t k = 0; k <= p.half / 2; k++) {
    const C w = {NAME(splat)(unit[2 * k]), NAME(splat)(unit[2 * k + 1])};
    const int64_t to = p.half - k, other = k ? to : 0;
    const int32_t *places = p.places;
    for (int64_t lane = 0;;) {
      int64_t z_a = (places ? places[k] : k) * z.pitch + lane,
              z_b = (places ? places[other] : other) * z.pitch + lane;
      int64_t s_a = (places ? places[k] : k) * s.pitch + s.step * lane,
              s_b = (places ? places[to] : to) * s.pitch + s.step * lane;
      C a, b;
      NAME(read)(join ? &s : &z, join ? s_a : z_a, 0, &a, 1, 1);
      NAME(read)(join ? &s : &z, join ? s_b : z_b, 0, &b, 1, 1);
      if (k && join) NAME(join_step)(&a, &b, w);
      else if (k) NAME(split_step)(&a, &b, w);
      else if (join) a = b = (C){a.re + b.re, a.re - b.re};
      else b = (C){a.re - a.im, (V){0}}, a = (C){a.re + a.im, (V){0}};
      NAME(write)(join ? &z : &s, join ? z_a : s_a, 0, &a, 1);
      NAME(write)(join ? &z : &s, join ? z_b : s_b, 0, &b, 1);
      if (--due == 0) due = fetch_some(p.ahead);
      if (lane + WIDTH >= p.lanes) break;
      lane += lane + 2 * WIDTH <= p.lanes ? WIDTH : p.lanes - lane - WIDTH;
    }
  }
  stay_due(p.ahead, due);
}

static void NAME(split_lanes)(const nxi_fft_half_lanes *p) { NAME(lanes_of_halves)(p, false); }
static void NAME(join_lanes)(const nxi_fft_half_lanes *p) { NAME(lanes_of_halves)(p, true); }
