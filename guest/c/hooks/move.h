/*
 * Renames by Linux' calls, also of folders of an image's layers.
 *
 * Fact: overlayfs without redirect_dir refuses to rename a folder that is in a lower layer, or in two (EXDEV). That
 * option would leave the folder's files where they were and note the way to them in the upper layer, so a container's
 * layer would not be whole without those below it: what a commit or an export makes of it, would have lost the files.
 * It stays off, and what is in such a folder is moved instead, each file by a rename of its own.
 */
#ifndef MULLION_MOVE_H
#define MULLION_MOVE_H

#include "path.h"

/*
 * renameat2 with these flags, which may have LX_RENAME_NOREPLACE. A folder of a layer is made anew, with its owner,
 * mode, times and attributes, and gets what was in it, of which the upper layer has a copy then; if that fails,
 * everything is put back where it was, unless that fails too. Others see the move half done, and who has the folder
 * itself open has one without a name.
 */
int move_entry(const struct place *from, const struct place *to, int flags);

#endif
