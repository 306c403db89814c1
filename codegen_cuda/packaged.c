/* SPDX-License-Identifier: ISC */
/* Finds NVIDIA's libraries where Python's package managers install them: nvidia/NAME/lib in a
 * folder of Python packages. A C library has to find out which folder that is. It looks in the
 * environment that is active (VIRTUAL_ENV, CONDA_PREFIX), and in the folder where this library
 * itself is installed, which is a folder of Python packages if it came in a wheel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/platform/file.h"
#include "ir/platform/library.h"
#include "toolkit.h"

/* False if the path does not fit. */
#define PUT(path, ...) (snprintf(path, NXI_PATH, __VA_ARGS__) < NXI_PATH)

static bool is_file(const char *folder, const char *file, char path[NXI_PATH]) {
  return PUT(path, "%s/%s", folder, file) && nxi_path_readable(path);
}

/* A search in the folders of one folder. */
typedef struct search {
  const char *folder, *inner, *file;
  char *found;
  char least[NXI_PATH]; /* the name of the folder that it was found in; "": of none yet */
} search;

static bool look_inside(void *user, const char *name) {
  search *s = user;
  char where[NXI_PATH], path[NXI_PATH];
  bool fits = name[0] != '.' && (s->least[0] == 0 || strcmp(name, s->least) < 0);
  if (fits && PUT(where, "%s/%s/%s", s->folder, name, s->inner) && is_file(where, s->file, path)) {
    memcpy(s->least, name, strlen(name) + 1);
    memcpy(s->found, path, strlen(path) + 1);
  }
  return true;
}

/* Looks for the file in FOLDER/NAME/INNER, for all NAMEs in FOLDER; takes the first in order of
 * names. */
static bool find_below(const char *folder, const char *inner, const char *file,
                       char found[NXI_PATH]) {
  search s = {.folder = folder, .inner = inner, .file = file, .found = found};
  return nxi_path_list(folder, look_inside, &s) && s.least[0] != 0;
}

static bool find_in_packages(const char *packages, const char *file, char found[NXI_PATH]) {
  char nvidia[NXI_PATH];
  return PUT(nvidia, "%s/nvidia", packages) && find_below(nvidia, "lib", file, found);
}

/* In an environment each version of Python has a folder of packages. */
static bool look_in_python(void *user, const char *name) {
  search *s = user;
  char packages[NXI_PATH];
  if (strncmp(name, "python", 6) == 0 && PUT(packages, "%s/%s/site-packages", s->folder, name) &&
      find_in_packages(packages, s->file, s->found))
    s->least[0] = 1;
  return s->least[0] == 0;
}

/* Conda has its libraries in a folder beside those of the packages. */
static bool find_in_environment(const char *variable, const char *file, char found[NXI_PATH]) {
  static const char *const libraries[] = {"lib", "lib64"};
  const char *root = getenv(variable);
  char folder[NXI_PATH];
  if (root == NULL || root[0] == 0) return false;
  for (int i = 0; i < 2; i++) {
    search s = {.folder = folder, .file = file, .found = found};
    if (!PUT(folder, "%s/%s", root, libraries[i])) return false;
    if (is_file(folder, file, found)) return true;
    if (nxi_path_list(folder, look_in_python, &s) && s.least[0] != 0) return true;
  }
  return false;
}

bool nxu_find_beside(const char *library, const char *file, char found[NXI_PATH]) {
  static const char *const names[] = {"/site-packages/", "/dist-packages/"};
  char packages[NXI_PATH];
  if (!nxi_path_real(library, packages)) return false;
  for (int i = 0; i < 2; i++) {
    char *at = strstr(packages, names[i]);
    if (at == NULL) continue;
    at[strlen(names[i]) - 1] = 0;
    return find_in_packages(packages, file, found);
  }
  return false;
}

bool nxu_find_packaged(const char *file, char found[NXI_PATH]) {
  static const char here;
  if (find_in_environment("VIRTUAL_ENV", file, found) ||
      find_in_environment("CONDA_PREFIX", file, found))
    return true;
  const char *own = nxi_library_path(&here);
  return own != NULL && nxu_find_beside(own, file, found);
}
