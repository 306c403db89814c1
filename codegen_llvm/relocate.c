/* SPDX-License-Identifier: ISC */
/* The relocations that position-independent code of one object has, as the ELF supplements for
 * x86-64 and AArch64 define them. Both are in every build: what they compute does not depend on the
 * machine that computes it. */
#include <string.h>

#include "elf_format.h"
#include "jit.h"

/* ---- pieces */

static bool write_bits(const nxl_reference *r, uint64_t value, size_t bytes) {
  if (bytes > r->room) return false;
  memcpy(r->at, &value, bytes); /* both machines are little-endian */
  return true;
}

static bool fits_signed(uint64_t value, uint32_t bits) {
  uint64_t half = UINT64_C(1) << (bits - 1);
  return value + half < 2 * half;
}

static bool write_signed_32(const nxl_reference *r, uint64_t value) {
  return fits_signed(value, 32) && write_bits(r, value, 4);
}

/* Puts `value` into bits low .. low + n - 1 of the instruction. */
static bool write_field(const nxl_reference *r, uint64_t value, uint32_t low, uint32_t n) {
  uint32_t instruction, mask = ((UINT32_C(1) << n) - 1) << low;
  if (r->room < 4) return false;
  memcpy(&instruction, r->at, 4);
  return write_bits(r, (instruction & ~mask) | (((uint32_t)value << low) & mask), 4);
}

/* ---- x86-64 */

static bool relocate_x86(const nxl_reference *r) {
  switch (r->type) {
    case R_X86_64_NONE: return true;
    case R_X86_64_64: return write_bits(r, r->value, 8);
    case R_X86_64_PC64: return write_bits(r, r->value - r->place, 8);
    case R_X86_64_PC32:
    case R_X86_64_PLT32: return write_signed_32(r, r->value - r->place);
    default: return false;
  }
}

/* ---- AArch64 */

static bool branch(const nxl_reference *r) {
  uint64_t distance = r->value - r->place;
  return !(distance & 3) && fits_signed(distance, 28) && write_field(r, distance >> 2, 0, 26);
}

static bool page(const nxl_reference *r) {
  uint64_t distance = (r->value & ~UINT64_C(4095)) - (r->place & ~UINT64_C(4095));
  return fits_signed(distance, 33) && write_field(r, distance >> 12, 29, 2) &&
         write_field(r, distance >> 14, 5, 19);
}

/* The lower 12 bits of an address, in units of 1 << shift bytes. */
static bool low_bits(const nxl_reference *r, uint32_t shift) {
  uint64_t low = r->value & 4095;
  return !(low & ((UINT64_C(1) << shift) - 1)) && write_field(r, low >> shift, 10, 12);
}

static bool relocate_arm(const nxl_reference *r) {
  switch (r->type) {
    case R_AARCH64_NONE: return true;
    case R_AARCH64_ABS64: return write_bits(r, r->value, 8);
    case R_AARCH64_PREL64: return write_bits(r, r->value - r->place, 8);
    case R_AARCH64_PREL32: return write_signed_32(r, r->value - r->place);
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26: return branch(r);
    case R_AARCH64_ADR_PREL_PG_HI21: return page(r);
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC: return low_bits(r, 0);
    case R_AARCH64_LDST16_ABS_LO12_NC: return low_bits(r, 1);
    case R_AARCH64_LDST32_ABS_LO12_NC: return low_bits(r, 2);
    case R_AARCH64_LDST64_ABS_LO12_NC: return low_bits(r, 3);
    case R_AARCH64_LDST128_ABS_LO12_NC: return low_bits(r, 4);
    default: return false;
  }
}

/* ---- both */

bool nxl_relocate(const nxl_reference *r) {
  if (r->machine == NXL_ELF_X86_64) return relocate_x86(r);
  return r->machine == NXL_ELF_AARCH64 && relocate_arm(r);
}

/* x86-64: jmp *(next), ud2; AArch64: ldr x16, (next); br x16. The address of the function is in the
 * second half. */
void nxl_write_stub(uint16_t machine, void *at, uint64_t function) {
  static const unsigned char x86[8] = {0xff, 0x25, 2, 0, 0, 0, 0x0f, 0x0b};
  static const uint32_t arm[2] = {0x58000050, 0xd61f0200};
  memcpy(at, machine == NXL_ELF_X86_64 ? (const void *)x86 : arm, 8);
  memcpy((char *)at + 8, &function, 8);
}
