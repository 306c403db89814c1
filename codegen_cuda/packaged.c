/* SPDX-License-Identifier: ISC */
/* Finds NVIDIA's libraries where Python's package managers install them: nvidia/NAME/lib in a
 * folder of Python packages. A C library has to find out which folder that is. It looks in the
 * environment that is active (VIRTUAL_ENV, CONDA_PREFIX), and in the folder where this library
 * itself is installed, which is a folder of Python packages if it came in a wheel. */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "toolkit.h"

/* False if the path does not fit. */
#define PUT(path, ...) (snprintf(path, PATH_MAX, __VA_ARGS__) < PATH_MAX)

static bool is_file(const char *folder, const char *file, char path[PATH_MAX]) {
  return PUT(path, "%s/%s", folder, file) && access(path, R_OK) == 0;
}

/* Looks for the file in FOLDER/NAME/INNER, for all NAMEs in FOLDER that begin with PREFIX; takes
 * the first in order of names. */
static bool find_below(const char *folder, const char *prefix, const char *inner, const char *file,
                       char found[PATH_MAX]) {
  char least[NAME_MAX + 1] = "", path[PATH_MAX], where[PATH_MAX];
  DIR *d = opendir(folder);
  if (d == NULL) return false;
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    bool fits = e->d_name[0] != '.' && strncmp(e->d_name, prefix, strlen(prefix)) == 0 &&
                (least[0] == 0 || strcmp(e->d_name, least) < 0);
    if (!fits || !PUT(where, "%s/%s/%s", folder, e->d_name, inner) || !is_file(where, file, path))
      continue;
    memcpy(least, e->d_name, strlen(e->d_name) + 1);
    memcpy(found, path, strlen(path) + 1);
  }
  closedir(d);
  return least[0] != 0;
}

static bool find_in_packages(const char *packages, const char *file, char found[PATH_MAX]) {
  char nvidia[PATH_MAX];
  return PUT(nvidia, "%s/nvidia", packages) && find_below(nvidia, "", "lib", file, found);
}

/* In an environment each version of Python has a folder of packages; conda has its libraries in a
 * folder beside these. */
static bool find_in_environment(const char *variable, const char *file, char found[PATH_MAX]) {
  static const char *const libraries[] = {"lib", "lib64"};
  const char *root = getenv(variable);
  char folder[PATH_MAX], packages[PATH_MAX];
  if (root == NULL || root[0] == 0) return false;
  for (int i = 0; i < 2; i++) {
    if (!PUT(folder, "%s/%s", root, libraries[i])) return false;
    if (is_file(folder, file, found)) return true;
    DIR *d = opendir(folder);
    bool there = false;
    for (struct dirent *e; d != NULL && !there && (e = readdir(d)) != NULL;)
      there = strncmp(e->d_name, "python", 6) == 0 &&
              PUT(packages, "%s/%s/site-packages", folder, e->d_name) &&
              find_in_packages(packages, file, found);
    if (d != NULL) closedir(d);
    if (there) return true;
  }
  return false;
}

bool nxu_find_beside(const char *library, const char *file, char found[PATH_MAX]) {
  static const char *const names[] = {"/site-packages/", "/dist-packages/"};
  char packages[PATH_MAX];
  if (realpath(library, packages) == NULL) return false;
  for (int i = 0; i < 2; i++) {
    char *at = strstr(packages, names[i]);
    if (at == NULL) continue;
    at[strlen(names[i]) - 1] = 0;
    return find_in_packages(packages, file, found);
  }
  return false;
}

bool nxu_find_packaged(const char *file, char found[PATH_MAX]) {
  static const char here;
  Dl_info own;
  if (find_in_environment("VIRTUAL_ENV", file, found) ||
      find_in_environment("CONDA_PREFIX", file, found))
    return true;
  return dladdr(&here, &own) != 0 && nxu_find_beside(own.dli_fname, file, found);
}
