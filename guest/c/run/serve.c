/*
 * Starting one program after the other, each as if this process had been started for it alone: the container's first
 * process (internal/runtime/containerinit) hands over what it was asked for, and is told how the program ended. That
 * saves the start of a Windows process for each program.
 *
 * Both speak packets over a socket. The first process sends the id of the exec and the arguments of this program, each
 * with a zero byte behind it, with the program's three descriptors. This process answers 't' when it has taken it, or
 * 'n' when it has not and ends; and 'e' with the exit code, four bytes, when the program has ended.
 *
 * What runs on Linux is known by a variable of its environment, which programs have of whoever starts them. So the id
 * in this process's own environment is that of the program that it runs.
 */
#include "run.h"

#include <winternl.h>

NTSTATUS NTAPI NtNotifyChangeKey(HANDLE, HANDLE, PIO_APC_ROUTINE, void *, IO_STATUS_BLOCK *, ULONG, BOOLEAN, void *,
                                 ULONG, BOOLEAN);
NTSTATUS NTAPI NtOpenKey(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *);
NTSTATUS NTAPI RtlFormatCurrentUserKeyPath(UNICODE_STRING *);

/* Wine's, not Windows': a handle for a descriptor (ntdll.spec of Wine 8 and 10). */
typedef NTSTATUS(CDECL *fd_to_handle)(int fd, unsigned access, unsigned attributes, HANDLE *handle);

enum
{
    MOST_BYTES = 64 << 10, /* of a packet, as in containerinit/wire */
    ID_LENGTH = 16,
    KEYS = 3,
    EXIT_GONE = 0, /* nobody asks any more */

    SYS_open = 2,
    SYS_close = 3,
    SYS_dup2 = 33,
    SYS_sendmsg = 46,
    SYS_recvmsg = 47,
    MSG_CTRUNC = 8,
    MSG_TRUNC = 0x20,
    MSG_NOSIGNAL = 0x4000,
    MSG_CMSG_CLOEXEC = 0x40000000,
    SOL_SOCKET = 1,
    SCM_RIGHTS = 1,
    LINUX_EINTR = 4,
    O_RDWR = 2,
    O_CLOEXEC = 02000000
};

/* What has been sent: the id and the arguments, and the program's standard files. */
struct packet
{
    char bytes[MOST_BYTES];
    int size;
    int files[3];
};

/* What lives as long as this process. */
struct service
{
    struct packet *packet;
    int socket, null;
    char *id; /* where this process's environment has the id of the exec */
    fd_to_handle to_handle;
    WCHAR *environment;
    SIZE_T environment_bytes;
    HANDLE changed[KEYS]; /* events: variables in the registry have changed since */
    IO_STATUS_BLOCK unused;
};

/* The kernel's struct iovec, struct msghdr and a struct cmsghdr with three descriptors. */
struct linux_vector
{
    void *base;
    ULONGLONG size;
};

struct linux_message
{
    void *name;
    ULONGLONG name_size;
    struct linux_vector *vectors;
    ULONGLONG vector_count;
    void *control;
    ULONGLONG control_size;
    int flags;
};

struct linux_control
{
    ULONGLONG size;
    int level, type;
    int files[4]; /* the last one aligns */
};

/* receive reads a packet. FALSE: nobody sends any more, or it is none. */
static BOOL receive(int socket, struct packet *packet)
{
    struct linux_vector vector = {packet->bytes, sizeof(packet->bytes)};
    struct linux_control control = {0};
    struct linux_message message = {.vectors = &vector, .vector_count = 1};
    LONG_PTR size;

    do
    {
        message.control = &control;
        message.control_size = sizeof(control);
        size = run_linux_call(SYS_recvmsg, socket, (LONG_PTR)(ULONG_PTR)&message, MSG_CMSG_CLOEXEC, 0);
    } while (size == -LINUX_EINTR);
    if (size <= ID_LENGTH + 1 || (message.flags & (MSG_TRUNC | MSG_CTRUNC)) || packet->bytes[size - 1] ||
        packet->bytes[ID_LENGTH])
        return FALSE;
    if (control.level != SOL_SOCKET || control.type != SCM_RIGHTS ||
        control.size != sizeof(control) - sizeof(control.files) + sizeof(packet->files))
        return FALSE;
    packet->size = (int)size;
    memcpy(packet->files, control.files, sizeof(packet->files));
    return TRUE;
}

static void answer(const struct service *s, char verb, DWORD code, SIZE_T size)
{
    char bytes[5] = {verb, (char)code, (char)(code >> 8), (char)(code >> 16), (char)(code >> 24)};
    struct linux_vector vector = {bytes, size};
    struct linux_message message = {.vectors = &vector, .vector_count = 1};

    if (run_linux_call(SYS_sendmsg, s->socket, (LONG_PTR)(ULONG_PTR)&message, MSG_NOSIGNAL, 0) != (LONG_PTR)size)
        ExitProcess(EXIT_GONE);
}

/* split returns the arguments of a packet, behind a name for this process. */
static int split(const struct packet *packet, WCHAR ***argv)
{
    const char *bytes = packet->bytes + ID_LENGTH + 1;
    int size = packet->size - ID_LENGTH - 1, count = 1;
    WCHAR *text = run_mem_alloc((SIZE_T)size * sizeof(WCHAR));
    int length = MultiByteToWideChar(CP_UTF8, 0, bytes, size, text, size);

    for (int i = 0; i < length; i++)
        count += !text[i];
    *argv = run_mem_alloc((SIZE_T)count * sizeof(**argv));
    (*argv)[0] = text + length - 1;
    for (int i = 1; i < count; i++, text += run_str_len(text) + 1)
        (*argv)[i] = text;
    return count;
}

/* set_standard makes a descriptor a standard file, on both sides. The descriptor itself is closed. */
static BOOL set_standard(const struct service *s, int number, int file, unsigned access)
{
    HANDLE handle;
    BOOL made;

    run_linux_call(SYS_dup2, file, number, 0, 0);
    run_linux_call(SYS_close, file, 0, 0, 0);
    made = s->to_handle(number, access | SYNCHRONIZE, OBJ_INHERIT, &handle) >= 0;
    SetStdHandle((DWORD)(STD_INPUT_HANDLE - number), made ? handle : NULL);
    return made;
}

/* drop_standard lets go of the program's files: who reads its output learns of the end. */
static void drop_standard(const struct service *s)
{
    for (int i = 0; i < 3; i++)
    {
        HANDLE handle = GetStdHandle((DWORD)(STD_INPUT_HANDLE - i));

        SetStdHandle((DWORD)(STD_INPUT_HANDLE - i), NULL);
        if (handle)
            CloseHandle(handle);
        run_linux_call(SYS_dup2, s->null, i, 0, 0);
    }
}

/* is_same returns whether a new process would begin with the variables that this one began with. */
static BOOL is_same(const struct service *s)
{
    return WaitForMultipleObjects(KEYS, s->changed, FALSE, 0) == WAIT_TIMEOUT;
}

static void set_id(const struct service *s, const char *id)
{
    memcpy(s->id, id, ID_LENGTH);
}

static int run_packet(const struct service *s)
{
    const struct packet *packet = s->packet;
    struct options opt = {0};
    WCHAR **argv;
    BOOL ready = TRUE;
    int argc, code;

    set_id(s, packet->bytes);
    answer(s, 't', 0, 1);
    ready &= set_standard(s, 0, packet->files[0], GENERIC_READ);
    ready &= set_standard(s, 1, packet->files[1], GENERIC_WRITE);
    ready &= set_standard(s, 2, packet->files[2], GENERIC_WRITE);
    if (!ready)
        return EXIT_NOT_STARTED;
    run_restore_environment(s->environment, s->environment_bytes);
    argc = split(packet, &argv);
    code = run_take_options(&opt, argc, argv);
    if (!code)
        code = run_one(&opt);
    run_report_close();
    return code;
}

/* watch makes an event that is set when a value of a key changes, or the key is made. NULL: it cannot be watched. */
static HANDLE watch(struct service *s, const WCHAR *root, const WCHAR *path)
{
    OBJECT_ATTRIBUTES attributes = {.Length = sizeof(attributes), .Attributes = OBJ_CASE_INSENSITIVE};
    HANDLE event = CreateEventW(NULL, TRUE, FALSE, NULL), key;
    WCHAR *text = run_str_concat(root, path, L"");
    UNICODE_STRING name = {.Buffer = text};

    name.Length = (USHORT)(run_str_len(text) * sizeof(WCHAR));
    name.MaximumLength = (USHORT)(name.Length + sizeof(WCHAR));
    attributes.ObjectName = &name;
    if (!event || NtOpenKey(&key, KEY_NOTIFY, &attributes) < 0)
        return NULL;
    if (NtNotifyChangeKey(key, event, NULL, NULL, &s->unused, REG_NOTIFY_CHANGE_NAME | REG_NOTIFY_CHANGE_LAST_SET,
                          FALSE, NULL, 0, TRUE) < 0)
        return NULL;
    return event;
}

/* watch_variables watches the keys of which Wine makes the environment of a new process (ntdll/unix/env.c). */
static BOOL watch_variables(struct service *s)
{
    UNICODE_STRING user;

    if (RtlFormatCurrentUserKeyPath(&user) < 0)
        return FALSE;
    s->changed[0] = watch(s, L"\\Registry\\Machine\\System\\CurrentControlSet\\Control\\Session Manager",
                          L"\\Environment");
    s->changed[1] = watch(s, user.Buffer, L"\\Environment");
    s->changed[2] = watch(s, user.Buffer, L"\\Volatile Environment");
    return s->changed[0] && s->changed[1] && s->changed[2];
}

static BOOL begin(struct service *s)
{
    static const char null_device[] = "/dev/null";

    s->to_handle = (fd_to_handle)(void *)GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_server_fd_to_handle");
    s->id = run_find_variable("MULLION_EXEC=", ID_LENGTH);
    s->null = (int)run_linux_call(SYS_open, (LONG_PTR)(ULONG_PTR)null_device, O_RDWR | O_CLOEXEC, 0, 0);
    if (!s->to_handle || !s->id || s->null < 0)
        return FALSE;
    if (!watch_variables(s)) /* before they are read: what changes meanwhile is seen */
        return FALSE;
    run_set_own_environment();
    s->environment = run_keep_environment(&s->environment_bytes);
    return TRUE;
}

int run_serve(int socket)
{
    static const char nothing[ID_LENGTH + 1] = "0000000000000000";
    struct service s = {.socket = socket, .packet = run_mem_alloc(sizeof(*s.packet))};
    BOOL able = begin(&s);

    while (receive(socket, s.packet))
    {
        int code;

        if (!able || !is_same(&s) || !run_forget_children())
        {
            answer(&s, 'n', 0, 1);
            return EXIT_GONE;
        }
        run_mem_begin();
        code = run_packet(&s);
        run_mem_end();
        drop_standard(&s);
        set_id(&s, nothing);
        answer(&s, 'e', (DWORD)code, 5);
        run_drop_stack();
    }
    return EXIT_GONE;
}
