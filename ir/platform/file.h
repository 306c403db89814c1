/* SPDX-License-Identifier: ISC */
/* Files, folders and their names in the operating system. An open file or folder is a number, -1 is
 * none; callers may also pass numbers of files that they opened themselves. Functions that fail
 * leave the reason in errno, for nxi_system_error. Interrupted calls are made again. */
#ifndef NXI_PLATFORM_FILE_H
#define NXI_PLATFORM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NXI_PATH = 4096, NXI_SYSTEM_ERROR = 128 }; /* including the NUL */

/* The meaning of an errno value as text, which may be stored in `text`. */
const char *nxi_system_error(int error, char text[NXI_SYSTEM_ERROR]);

/* ---- properties of files */

typedef struct nxi_file_info {
  bool regular, folder;
  bool others_write; /* users other than the owner may write it */
  uint32_t owner, group, permissions;
  int64_t bytes;
  int64_t modified_s; /* seconds since 1970; and nanoseconds */
  int32_t modified_ns;
} nxi_file_info;
bool nxi_path_info(const char *path, nxi_file_info *out);
bool nxi_fd_info(int file, nxi_file_info *out);
/* Whether the file has the owner that files of this process get. */
bool nxi_is_own(const nxi_file_info *f);

/* ---- open files. They are not inherited by programs that the process starts. */

enum {
  NXI_FD_WRITE = 1,  /* for writing only */
  NXI_FD_UPDATE = 2, /* for reading and writing */
  NXI_FD_CREATE = 4, /* it is created if it does not exist */
  NXI_FD_NEW = 8,    /* it must not exist yet */
  NXI_FD_DIRECT = 16 /* the name must not be a link */
};
/* Opening a pipe waits for its other end only for writing. permissions: of a file that is created
 * (0600: only its owner may use it). */
int nxi_fd_open(const char *path, uint32_t how, uint32_t permissions);
int nxi_fd_open_in(int folder, const char *name, uint32_t how, uint32_t permissions);
int nxi_fd_open_folder(const char *path);
bool nxi_fd_close(int file);
/* Reads or writes all bytes; false if that fails. */
bool nxi_fd_read(int file, void *data, size_t bytes);
bool nxi_fd_write(int file, const void *data, size_t bytes);
/* Has the system write these bytes of a file to its disk, and waits for as many before them. What
 * fails fails again at the sync. */
void nxi_fd_push(int file, int64_t at, int64_t bytes);
/* Waits until everything that was written is on the disk. */
bool nxi_fd_sync(int file);
bool nxi_fd_touch(int file); /* sets the file's times to now, which records its use */
/* Gives the file the owner and the permissions of another file, as far as the file system can. If
 * the owner or the group cannot be set, the set-user-ID, set-group-ID and sticky bits are not
 * copied. */
void nxi_fd_take_after(int file, const nxi_file_info *other);
/* Makes a file longer, and reserves space on the disk if the file system can: writing a mapped page
 * for which there is no space later would end the process. False: the file is not changed. */
bool nxi_fd_grow(int file, int64_t from, int64_t to);

/* ---- names */

bool nxi_path_rename(const char *from, const char *to);
bool nxi_path_remove(const char *path);
bool nxi_name_rename(int folder, const char *from, const char *to);
bool nxi_name_remove(int folder, const char *name);
bool nxi_name_info(int folder, const char *name, nxi_file_info *out); /* a link is not followed */
bool nxi_path_readable(const char *path);
bool nxi_path_make_folder(const char *path, uint32_t permissions);
/* Whether files can be created in the folder. */
bool nxi_path_folder_usable(const char *path);
bool nxi_fd_folder_usable(int folder);
/* The target of the path if its last part is a link; the target need not exist. */
bool nxi_path_follow(const char *path, char target[NXI_PATH]);
/* A path without links and dots. */
bool nxi_path_real(const char *path, char real[NXI_PATH]);

/* Calls `visit` with each name in a folder, until it returns false. False: the folder cannot be
 * read. */
typedef bool nxi_name_visitor(void *user, const char *name);
bool nxi_fd_list(int folder, nxi_name_visitor *visit, void *user);
bool nxi_path_list(const char *path, nxi_name_visitor *visit, void *user);

/* Reads a small file of the system as a string, which is cut to the capacity. False if the file is
 * empty or missing. */
bool nxi_read_text(const char *path, char *text, size_t capacity);

#endif
