/* SPDX-License-Identifier: ISC */
/* NVIDIA's libraries where package managers of Python put them: nvidia/NAME/lib of a folder of
 * Python packages. Nobody tells a C library which folder that is. It is asked of the environment
 * that is active (VIRTUAL_ENV, CONDA_PREFIX), and of the place where this library itself lies,
 * which is such a folder if it came in a wheel. */
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

/* In FOLDER/PREFIX.../INNER, of folders in FOLDER whose names begin so: the one whose name is the
 * least. */
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

/* Each Python of an environment has packages of its own; conda has libraries beside them. */
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
