/* SPDX-License-Identifier: ISC */
/* Files, folders and their names, as the operating system has them. An open file or folder is a
 * number, -1 is none; the interface takes such numbers of callers too. Functions that fail leave
 * the reason in errno, for nxi_system_error. Interrupted calls are made again. */
#ifndef NXI_PLATFORM_FILE_H
#define NXI_PLATFORM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NXI_PATH = 4096, NXI_SYSTEM_ERROR = 128 }; /* with the NUL */

/* What errno says, as a sentence; `text` is room for it. */
const char *nxi_system_error(int error, char text[NXI_SYSTEM_ERROR]);

/* ---- what a file is */

typedef struct nxi_file_info {
  bool regular, folder;
  bool others_write; /* who is not its owner may write it */
  uint32_t owner, group, permissions;
  int64_t bytes;
  int64_t modified_s; /* since 1970; */
  int32_t modified_ns;
} nxi_file_info;
bool nxi_path_info(const char *path, nxi_file_info *out);
bool nxi_fd_info(int file, nxi_file_info *out);
/* Whether the files that this process makes are of the same owner. */
bool nxi_is_own(const nxi_file_info *f);

/* ---- open files. They are not inherited by programs that the process starts. */

enum {
  NXI_FD_WRITE = 1,  /* to be written, and not read */
  NXI_FD_UPDATE = 2, /* to be read and written */
  NXI_FD_CREATE = 4, /* made if it is not there */
  NXI_FD_NEW = 8,    /* it must not be there yet */
  NXI_FD_DIRECT = 16 /* the name must not be a link */
};
/* Waits for the other end of a pipe only to write. permissions: of a file that is made (0600: its
 * owner's alone). */
int nxi_fd_open(const char *path, uint32_t how, uint32_t permissions);
int nxi_fd_open_in(int folder, const char *name, uint32_t how, uint32_t permissions);
int nxi_fd_open_folder(const char *path);
bool nxi_fd_close(int file);
/* All bytes, or false. */
bool nxi_fd_read(int file, void *data, size_t bytes);
bool nxi_fd_write(int file, const void *data, size_t bytes);
/* What was written is on the disk. */
bool nxi_fd_sync(int file);
bool nxi_fd_touch(int file); /* was record the use */
/* The same owner and permissions as another file's; where the owner cannot be kept, permissions
 * that are no wider than they were. As far as the file system can. */
void nxi_fd_take_after(int file, const nxi_file_info *other);
/* Makes a file longer, with room on the disk where the file system can reserve it: a page that it
 * has no room for later would end the process. False: the file is as it was. */
bool nxi_fd_grow(int file, int64_t from, int64_t to);

/* ---- names */

bool nxi_path_rename(const char *from, const char *to);
bool nxi_path_remove(const char *path);
bool nxi_name_rename(int folder, const char *from, const char *to);
bool nxi_name_remove(int folder, const char *name);
bool nxi_name_info(int folder, const char *name, nxi_file_info *out); /* a link is not followed */
bool nxi_path_readable(const char *path);
bool nxi_path_make_folder(const char *path, uint32_t permissions);
/* Whether files can be made in it. */
bool nxi_path_folder_usable(const char *path);
bool nxi_fd_folder_usable(int folder);
/* Where the path leads to if its last part is a link, which may be to a file that is not there. */
bool nxi_path_follow(const char *path, char target[NXI_PATH]);
/* A path without links and dots. */
bool nxi_path_real(const char *path, char real[NXI_PATH]);

/* Calls `visit` with each name in a folder, until it returns false. False: the folder cannot be
 * read. */
typedef bool nxi_name_visitor(void *user, const char *name);
bool nxi_fd_list(int folder, nxi_name_visitor *visit, void *user);
bool nxi_path_list(const char *path, nxi_name_visitor *visit, void *user);

/* A small file of the system, as a string; cut to the room. False if there is nothing in it. */
bool nxi_read_text(const char *path, char *text, size_t capacity);

#endif
