/*
 * Security descriptors of files and folders.
 *
 * Fact (Wine 8.0): its server makes a file's descriptor from Linux' owner and mode, and turns a list that is set into a
 * mode.
 *
 * Here the parts that were set are stored in an extended attribute, as a self-relative descriptor. The rest is computed
 * when it is asked for: the list is inherited from the folders above, up to drive C:, which has Windows' own list; so
 * files that Linux programs make have a list too. A list set by SetSecurityInfo, or given to a new file, also inherits
 * entries; a list that is set otherwise (SetFileSecurity) is the file's whole list.
 *
 * Who may do what stays with Linux' modes, which a list that is set changes; set_mode says how.
 */
#include "security.h"

#include <string.h>

#include "acl.h"
#include "drive.h"
#include "entry.h"
#include "heap.h"
#include "hooks.h"

#define ATTRIBUTE "user.mullion.sd"
#define PARTS (OWNER_SECURITY_INFORMATION | GROUP_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION)
#define CAPABILITY_PASS_OVER_MODES (1u << 1) /* CAP_DAC_OVERRIDE */
#define CURRENT_PROCESS_TOKEN ((HANDLE)(LONG_PTR)-4)

/* The file behind a handle. */
struct file
{
    int fd;
    BOOL folder, link; /* link: a link or socket file, which has no descriptor of its own */
    struct lx_stat st;
    BYTE *bytes; /* the stored bytes, into which kept points */
    struct descriptor kept;
    BYTE user[SECURITY_MAX_SID_SIZE + 16], group[SECURITY_MAX_SID_SIZE + 16]; /* TOKEN_USER, TOKEN_PRIMARY_GROUP */
    char self[32];                                                            /* its path below /proc */
    char path[LINUX_PATH_MAX];
};

/* Reads the stored descriptor of a file; NULL if there is none or it is damaged. The caller frees the result. */
static BYTE *read_kept(const char *path, struct descriptor *kept)
{
    int length = lx_getxattr(path, ATTRIBUTE, NULL, 0);
    BYTE *bytes = length > 0 ? heap_alloc((SIZE_T)length) : NULL;

    if (bytes && (length = lx_getxattr(path, ATTRIBUTE, bytes, (SIZE_T)length)) > 0 &&
        acl_descriptor_parse(bytes, (ULONG)length, kept))
        return bytes;
    heap_free(bytes);
    memset(kept, 0, sizeof(*kept));
    return NULL;
}

static BOOL is_file(HANDLE handle)
{
    struct
    {
        UNICODE_STRING name;
        BYTE rest[256];
    } type;

    return !originals.NtQueryObject(handle, 2 /* ObjectTypeInformation */, &type, sizeof(type), NULL) &&
           type.name.Length == 8 && !memcmp(type.name.Buffer, L"File", 8);
}

static void file_close(struct file *file)
{
    if (!file)
        return;
    if (file->fd >= 0)
        lx_close(file->fd);
    heap_free(file->bytes);
    heap_free(file);
}

/* Makes file, open on its folder, the link that the handle stands for. */
static BOOL become_link(struct file *file, struct link *link)
{
    SIZE_T length = strlen(file->path), name = strlen(link->place.name);
    struct entry entry;

    if (length + name + 2 > sizeof(file->path) || !entry_read(link->place.dir, link->place.name, &entry))
        return FALSE;
    file->path[length] = '/';
    memcpy(file->path + length + 1, link->place.name, name + 1);
    file->link = TRUE;
    file->folder = (entry.attributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
    file->st = entry.st;
    return TRUE;
}

/* The file behind a handle; NULL: no file or folder on a disk. */
static struct file *file_open(HANDLE handle)
{
    struct file *file = is_file(handle) ? heap_alloc(sizeof(*file)) : NULL;
    struct link *link = entry_link_get(handle);
    ULONG length;
    BOOL known;

    if (file)
    {
        file->fd = path_fd_of(handle);
        known = file->fd >= 0 && !lx_fstat(file->fd, &file->st) &&
                lx_fd_path(file->fd, file->path, sizeof(file->path)) > 0;
        file->folder = (file->st.mode & LX_S_IFMT) == LX_S_IFDIR;
        if (known && link)
            known = become_link(file, link);
        else if (known && (known = file->folder || (file->st.mode & LX_S_IFMT) == LX_S_IFREG))
        {
            lx_proc_path(file->fd, file->self);
            file->bytes = read_kept(file->self, &file->kept);
        }
        if (!known ||
            NtQueryInformationToken(CURRENT_PROCESS_TOKEN, TokenUser, file->user, sizeof(file->user), &length) ||
            NtQueryInformationToken(CURRENT_PROCESS_TOKEN, TokenPrimaryGroup, file->group, sizeof(file->group),
                                    &length))
        {
            file_close(file);
            file = NULL;
        }
    }
    if (link)
        entry_link_release(link);
    return file;
}

static const SID *program_user(const struct file *file)
{
    return ((const TOKEN_USER *)file->user)->User.Sid;
}

/*
 * Whether the file belongs to ContainerUser and the program runs as that user; all other files count as made by
 * administrators.
 */
static BOOL is_users(const struct file *file)
{
    return file->st.uid != 0 && file->st.uid == (UINT32)lx_getuid();
}

/* Files made by administrators and services belong to the group Administrators, as on Windows. */
static const SID *owner_of(const struct file *file)
{
    if (file->kept.owner)
        return file->kept.owner;
    return is_users(file) ? program_user(file) : (const SID *)&acl_administrators;
}

static const SID *group_of(const struct file *file)
{
    if (file->kept.group)
        return file->kept.group;
    return is_users(file) ? ((const TOKEN_PRIMARY_GROUP *)file->group)->PrimaryGroup : (const SID *)&acl_system;
}

/*
 * The list of a file or folder with the stored descriptor kept; NULL with STATUS_SUCCESS: everyone may do everything.
 * path is shortened on the way up to the drive.
 */
static NTSTATUS list_of(char *path, const char *drive, BOOL folder, const struct descriptor *kept, const SID *owner,
                        const SID *group, ACL **list)
{
    struct descriptor above;
    NTSTATUS status;
    ACL *from;
    BYTE *bytes;
    char *end = path + strlen(path);

    *list = NULL;
    if (kept->has_list &&
        (!kept->list || !(kept->control & SE_DACL_AUTO_INHERITED) || (kept->control & SE_DACL_PROTECTED)))
        return !kept->list || (*list = acl_copy(kept->list)) ? STATUS_SUCCESS : STATUS_NO_MEMORY;
    if (!path[0] || !strcmp(path, drive))
        return (*list = kept->has_list ? acl_copy(kept->list) : acl_of_drive()) ? STATUS_SUCCESS : STATUS_NO_MEMORY;
    while (end > path && *--end != '/')
        ;
    *end = 0;
    bytes = read_kept(path[0] ? path : "/", &above);
    if (!(status = list_of(path, drive, TRUE, &above, (const SID *)&acl_administrators, (const SID *)&acl_system,
                           &from)) &&
        from)
    {
        *list = acl_inherit(kept->has_list ? kept->list : NULL, from, folder, owner, group);
        if (*list && !kept->has_list && !(*list)->AceCount)
        {
            heap_free(*list);
            *list = acl_of_token(owner);
        }
        status = *list ? STATUS_SUCCESS : STATUS_NO_MEMORY;
        heap_free(from);
    }
    heap_free(bytes);
    return status;
}

/* The list of a file, to be freed (see list_of), and how it came to be. */
static NTSTATUS list_of_file(const struct file *file, ACL **list, WORD *control)
{
    char *path = heap_alloc(2 * LINUX_PATH_MAX), *drive = path + LINUX_PATH_MAX;
    NTSTATUS status = STATUS_NO_MEMORY;

    *list = NULL;
    if (path)
    {
        memcpy(path, file->path, sizeof(file->path));
        if (drive_path(drive, LINUX_PATH_MAX) < 0)
            drive[0] = 0;
        if (file->kept.has_list)
            *control = file->kept.control;
        else
            *control = strcmp(path, drive) ? SE_DACL_AUTO_INHERITED : 0;
        status = list_of(path, drive, file->folder, &file->kept, owner_of(file), group_of(file), list);
    }
    heap_free(path);
    return status;
}

static NTSTATUS WINAPI hook_NtQuerySecurityObject(HANDLE handle, SECURITY_INFORMATION info, void *answer, ULONG length,
                                                  ULONG *needed)
{
    struct file *file = file_open(handle);
    struct descriptor descriptor = {0};
    NTSTATUS status = STATUS_SUCCESS;
    ACL *list = NULL;
    ULONG size;

    if (!file)
        return originals.NtQuerySecurityObject(handle, info, answer, length, needed);
    if (!file->link) /* Wine's own checks the handle's rights; a link's handle is its folder's */
        status = originals.NtQuerySecurityObject(handle, info, NULL, 0, &size);
    if (status == STATUS_BUFFER_TOO_SMALL)
        status = STATUS_SUCCESS;
    if (!status && (info & DACL_SECURITY_INFORMATION))
    {
        status = list_of_file(file, &list, &descriptor.control);
        descriptor.has_list = TRUE;
        descriptor.list = list;
    }
    if (!status)
    {
        if (info & OWNER_SECURITY_INFORMATION)
            descriptor.owner = owner_of(file);
        if (info & GROUP_SECURITY_INFORMATION)
            descriptor.group = group_of(file);
        *needed = acl_descriptor_write(&descriptor, NULL);
        if (*needed > length)
            status = STATUS_BUFFER_TOO_SMALL;
        else
            acl_descriptor_write(&descriptor, answer);
    }
    heap_free(list);
    file_close(file);
    return status;
}

/* Stores a descriptor. A file that its own owner may not write is made writable for that moment. */
static NTSTATUS keep(const struct file *file, const struct descriptor *descriptor)
{
    ULONG length = acl_descriptor_write(descriptor, NULL);
    BYTE *bytes = heap_alloc(length);
    int result;

    if (!bytes)
        return STATUS_NO_MEMORY;
    acl_descriptor_write(descriptor, bytes);
    result = lx_setxattr(file->self, ATTRIBUTE, bytes, length);
    if (result == -LX_EACCES && !(file->st.mode & 0200) && !lx_fchmod(file->fd, (file->st.mode & 07777) | 0200))
    {
        result = lx_setxattr(file->self, ATTRIBUTE, bytes, length);
        lx_fchmod(file->fd, file->st.mode & 07777);
    }
    heap_free(bytes);
    return result == -LX_EOPNOTSUPP ? STATUS_NOT_SUPPORTED : lx_status(result);
}

/* Whether Linux' modes bind this program. */
static BOOL modes_bind(void)
{
    struct
    {
        UINT32 version;
        int pid;
    } head = {0x20080522 /* _LINUX_CAPABILITY_VERSION_3 */, 0};
    struct
    {
        UINT32 effective, permitted, inheritable;
    } sets[2] = {0};

    return lx_capget(&head, sets) || !(sets[0].effective & CAPABILITY_PASS_OVER_MODES);
}

static UINT32 mode_of_rights(ACCESS_MASK rights)
{
    return (rights & FILE_READ_DATA ? 4 : 0) | (rights & (FILE_WRITE_DATA | FILE_APPEND_DATA) ? 2 : 0) |
           (rights & FILE_EXECUTE ? 1 : 0);
}

/* The mode that a list gives to administrators, or to the other users; owner and self, if not NULL, belong to them. */
static UINT32 mode_of_class(const ACL *list, BOOL administrators, const SID *owner, const SID *self)
{
    const SID *who[7] = {(const SID *)&acl_everyone, (const SID *)&acl_authenticated, (const SID *)&acl_users};
    unsigned count = 3;

    if (administrators)
    {
        who[count++] = (const SID *)&acl_administrators;
        who[count++] = (const SID *)&acl_system;
    }
    if (owner)
        who[count++] = owner;
    if (self)
        who[count++] = self;
    return list ? mode_of_rights(acl_rights(list, who, count)) : 7;
}

/*
 * Sets Linux' mode by a list. A container has two users, its administrator (root) and another: one of them owns a file,
 * the other has the mode for others. On a host, modes bind only containers that mount a folder. A file of a group that
 * is not root's is of the group that stands for their administrators, and their users are the others. Else both are
 * others: they lose the right to write if the list gives it to no user, and keep the rest.
 */
static void set_mode(const struct file *file, const ACL *list)
{
    BOOL users_file = file->st.uid != 0, users_program = lx_getuid() != 0;
    UINT32 mode = file->st.mode & 07777, of[2];

    for (BOOL users = FALSE; users <= TRUE; users++)
        of[users] = mode_of_class(list, !users, users == users_file ? owner_of(file) : NULL,
                                  users == users_program ? program_user(file) : NULL);
    if (modes_bind())
        mode = (mode & 07000) | of[users_file] << 6 | of[!users_file] << 3 | of[!users_file];
    else if (file->st.gid != 0)
        mode = (mode & 07700) | of[FALSE] << 3 | of[TRUE];
    else if (!(of[TRUE] & 2))
        mode &= ~0022u;
    lx_fchmod(file->fd, mode);
}

/* Sets parts of a file's descriptor. With inherits, a list that is set also inherits entries. */
static NTSTATUS set_parts(struct file *file, SECURITY_INFORMATION info, const struct descriptor *asked, BOOL inherits)
{
    struct descriptor descriptor = file->kept;
    ACL *own = NULL, *list = NULL;
    NTSTATUS status;

    if (((info & OWNER_SECURITY_INFORMATION) && !asked->owner) ||
        ((info & GROUP_SECURITY_INFORMATION) && !asked->group))
        return STATUS_INVALID_SECURITY_DESCR;
    if (info & OWNER_SECURITY_INFORMATION)
        descriptor.owner = asked->owner;
    if (info & GROUP_SECURITY_INFORMATION)
        descriptor.group = asked->group;
    if (info & DACL_SECURITY_INFORMATION)
    {
        descriptor.has_list = TRUE;
        descriptor.control = inherits ? SE_DACL_AUTO_INHERITED : 0;
        if ((info & PROTECTED_DACL_SECURITY_INFORMATION) ||
            (!(info & UNPROTECTED_DACL_SECURITY_INFORMATION) && (asked->control & SE_DACL_PROTECTED)))
            descriptor.control |= SE_DACL_PROTECTED;
        if (asked->list && !(own = acl_set(asked->list, inherits, file->folder)))
            return STATUS_NO_MEMORY;
        descriptor.list = own;
    }
    status = keep(file, &descriptor);
    if (!status && (info & DACL_SECURITY_INFORMATION))
    {
        file->kept = descriptor;
        if (!(status = list_of_file(file, &list, &descriptor.control)))
            set_mode(file, list);
        heap_free(list);
    }
    heap_free(own);
    return status;
}

/* Whether a handle was opened with the rights to set these parts. */
static BOOL may_set(HANDLE handle, SECURITY_INFORMATION info)
{
    struct
    {
        ULONG attributes;
        ACCESS_MASK access;
        ULONG rest[12];
    } basic;
    ACCESS_MASK needed = (info & DACL_SECURITY_INFORMATION ? WRITE_DAC : 0) |
                         (info & (OWNER_SECURITY_INFORMATION | GROUP_SECURITY_INFORMATION) ? WRITE_OWNER : 0);

    return !originals.NtQueryObject(handle, 0 /* ObjectBasicInformation */, &basic, sizeof(basic), NULL) &&
           (basic.access & needed) == needed;
}

/*
 * Whether the caller is SetSecurityInfo or SetNamedSecurityInfo, the functions of advapi32 that come here. They let
 * a list inherit.
 */
static BOOL in_advapi32(const void *address)
{
    BYTE *module = (BYTE *)GetModuleHandleW(L"advapi32.dll");

    return module && (const BYTE *)address >= module &&
           (const BYTE *)address <
               module +
                   ((IMAGE_NT_HEADERS *)(module + ((IMAGE_DOS_HEADER *)module)->e_lfanew))->OptionalHeader.SizeOfImage;
}

static NTSTATUS WINAPI hook_NtSetSecurityObject(HANDLE handle, SECURITY_INFORMATION info, void *descriptor)
{
    BOOL inherits = in_advapi32(__builtin_return_address(0));
    struct file *file = info & PARTS && descriptor ? file_open(handle) : NULL;
    struct descriptor asked;
    NTSTATUS status;
    BOOL link;

    if (!file)
        return originals.NtSetSecurityObject(handle, info, descriptor);
    link = file->link;
    if (link)
        status = STATUS_NOT_SUPPORTED; /* Linux keeps no attributes of users for links */
    else if (!may_set(handle, info))
        status = STATUS_ACCESS_DENIED;
    else if (!(status = acl_descriptor_take(descriptor, &asked)))
        status = set_parts(file, info, &asked, inherits || (asked.control & SE_DACL_AUTO_INHERIT_REQ));
    file_close(file);
    return status == STATUS_NOT_SUPPORTED && !link ? originals.NtSetSecurityObject(handle, info, descriptor) : status;
}

void security_of_new(HANDLE handle, SECURITY_DESCRIPTOR *descriptor)
{
    struct file *file = file_open(handle);
    struct descriptor asked;
    SECURITY_INFORMATION info = 0;

    if (file && !file->link && !acl_descriptor_take(descriptor, &asked))
    {
        info |= asked.owner ? OWNER_SECURITY_INFORMATION : 0;
        info |= asked.group ? GROUP_SECURITY_INFORMATION : 0;
        info |= asked.has_list ? DACL_SECURITY_INFORMATION : 0;
        if (info)
            set_parts(file, info, &asked, TRUE); /* if it cannot be stored, the file has Wine's descriptor */
    }
    file_close(file);
}

void security_start(void)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");

    PATCH(ntdll, NtQuerySecurityObject);
    PATCH(ntdll, NtSetSecurityObject);
}
