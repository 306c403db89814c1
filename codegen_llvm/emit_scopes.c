/* SPDX-License-Identifier: ISC */
/* Metadata of loads and stores: the alias scopes that tell LLVM which buffers do not overlap. */
#include <stdio.h>
#include <string.h>

#include "emit.h"

static LLVMMetadataRef md_string(nxl_emitter *e, const char *s, uint32_t n) {
  return LLVMMDStringInContext2(e->context, s, n);
}

/* Each access lists the scopes of all other buffers, so metadata grows with the square of their
 * number. With more buffers than this it costs more compile time than the better code is worth. */
enum { MAX_SCOPED_BUFFERS = 64 };

void nxl_make_scopes(nxl_emitter *e) {
  if (e->k->n_buffers > MAX_SCOPED_BUFFERS) return;
  LLVMMetadataRef domain_name =
      md_string(e, e->k->name, (uint32_t)strnlen(e->k->name, sizeof e->k->name));
  LLVMMetadataRef domain = LLVMMDNodeInContext2(e->context, &domain_name, 1);
  uint32_t n = e->k->n_buffers;
  for (uint32_t i = 0; i < n; i++) {
    if (!e->k->buffers[i].restricted && e->k->buffers[i].kind != NXK_LOCAL) continue;
    char name[16];
    LLVMMetadataRef parts[2] = {md_string(e, name, (uint32_t)snprintf(name, sizeof name, "b%u", i)),
                                domain};
    e->scopes[i] = LLVMMDNodeInContext2(e->context, parts, 2);
  }
  LLVMMetadataRef others[MAX_SCOPED_BUFFERS];
  for (uint32_t i = 0; i < n; i++) {
    uint32_t count = 0;
    for (uint32_t j = 0; j < n; j++)
      if (j != i && e->scopes[j]) others[count++] = e->scopes[j];
    if (e->scopes[i])
      e->own_scope[i] =
          LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, &e->scopes[i], 1));
    if (count)
      e->other_scopes[i] =
          LLVMMetadataAsValue(e->context, LLVMMDNodeInContext2(e->context, others, count));
  }
}

void nxl_set_metadata(nxl_emitter *e, nxl_ref instruction, const char *kind, nxl_ref value) {
  LLVMSetMetadata(instruction, LLVMGetMDKindIDInContext(e->context, kind, (uint32_t)strlen(kind)),
                  value);
}

nxl_ref nxl_annotate(nxl_emitter *e, nxl_ref instruction, uint32_t buffer) {
  if (e->own_scope[buffer]) nxl_set_metadata(e, instruction, "alias.scope", e->own_scope[buffer]);
  if (e->other_scopes[buffer]) nxl_set_metadata(e, instruction, "noalias", e->other_scopes[buffer]);
  return instruction;
}
