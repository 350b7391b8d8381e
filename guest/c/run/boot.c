/*
 * The part of wineboot.exe's work that a container needs, done in this process. A container's Wine is started with
 * wineboot.exe disabled, because that would start services.exe and its children (0.5 s and 60 MB); mullion-run.exe is
 * the first program of every container and runs as long as the container.
 *
 * It writes the following, where Windows has it: KUSER_SHARED_DATA (offsets: Windows SDK, ntddk.h),
 * HKLM\HARDWARE\DESCRIPTION\System\CentralProcessor, the computer's name, and the variables that describe the processor
 * and the user. It does nothing if Wine's own wineboot has run.
 */
#include "run.h"
#include <cpuid.h>
#include <winternl.h>

NTSTATUS NTAPI NtCreateEvent(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *, LONG, BOOLEAN);
NTSTATUS NTAPI NtOpenSection(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *);
NTSTATUS NTAPI NtCreateKey(HANDLE *, ACCESS_MASK, OBJECT_ATTRIBUTES *, ULONG, UNICODE_STRING *, ULONG, ULONG *);
NTSTATUS NTAPI NtSetValueKey(HANDLE, UNICODE_STRING *, ULONG, ULONG, const void *, ULONG);
NTSTATUS NTAPI RtlGetVersion(OSVERSIONINFOEXW *);

/* What cpuid says about the processor. */
struct cpu
{
    WCHAR vendor[13];
    WCHAR name[49];
    WCHAR identifier[80]; /* "Intel64 Family 6 Model 85 Stepping 7" */
    unsigned family, model, stepping;
};

static void init_string(UNICODE_STRING *s, const WCHAR *text)
{
    s->Length = (USHORT)(run_str_len(text) * sizeof(WCHAR));
    s->MaximumLength = (USHORT)(s->Length + sizeof(WCHAR));
    s->Buffer = (WCHAR *)(ULONG_PTR)text;
}

static void widen(WCHAR *dst, const char *src, int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = (unsigned char)src[i];
}

static void read_cpu(struct cpu *cpu)
{
    unsigned a, b, c, d, regs[12];
    WCHAR n1[24], n2[24], n3[24];

    __cpuid(0, a, b, c, d);
    regs[0] = b, regs[1] = d, regs[2] = c;
    widen(cpu->vendor, (char *)regs, 12);
    cpu->vendor[12] = 0;
    __cpuid(1, a, b, c, d);
    cpu->stepping = a & 15;
    cpu->family = (a >> 8) & 15;
    cpu->model = (a >> 4) & 15;
    if (cpu->family == 6 || cpu->family == 15)
        cpu->model |= ((a >> 16) & 15) << 4;
    if (cpu->family == 15)
        cpu->family += (a >> 20) & 255;
    cpu->name[0] = 0;
    if (__get_cpuid_max(0x80000000, NULL) >= 0x80000004)
    {
        for (unsigned i = 0; i < 3; i++)
            __cpuid(0x80000002 + i, regs[i * 4], regs[i * 4 + 1], regs[i * 4 + 2], regs[i * 4 + 3]);
        widen(cpu->name, (char *)regs, 48);
        cpu->name[48] = 0;
    }
    run_str_copy(cpu->identifier, run_str_equal(cpu->vendor, L"AuthenticAMD") ? L"AMD64 Family " : L"Intel64 Family ");
    run_str_copy(cpu->identifier + run_str_len(cpu->identifier), run_str_from_number(cpu->family, n1));
    run_str_copy(cpu->identifier + run_str_len(cpu->identifier), L" Model ");
    run_str_copy(cpu->identifier + run_str_len(cpu->identifier), run_str_from_number(cpu->model, n2));
    run_str_copy(cpu->identifier + run_str_len(cpu->identifier), L" Stepping ");
    run_str_copy(cpu->identifier + run_str_len(cpu->identifier), run_str_from_number(cpu->stepping, n3));
}

/* set_features fills ProcessorFeatures: the index is the PF_ constant of IsProcessorFeaturePresent. */
static void set_features(BYTE *features)
{
    unsigned a, b = 0, c = 0, d = 0, b7 = 0, c7, d7;
    struct
    {
        int index;
        unsigned present;
    } table[21];
    int n = 0;

    __cpuid(1, a, b, c, d);
    if (!__get_cpuid_count(7, 0, &a, &b7, &c7, &d7))
        b7 = 0;
#define ADD(pf, bits) (table[n].index = (pf), table[n++].present = (bits))
    ADD(2, d & (1u << 8));                         /* PF_COMPARE_EXCHANGE_DOUBLE */
    ADD(3, d & (1u << 23));                        /* PF_MMX_INSTRUCTIONS_AVAILABLE */
    ADD(6, d & (1u << 25));                        /* PF_XMMI_INSTRUCTIONS_AVAILABLE */
    ADD(8, d & (1u << 4));                         /* PF_RDTSC_INSTRUCTION_AVAILABLE */
    ADD(9, d & (1u << 6));                         /* PF_PAE_ENABLED */
    ADD(10, d & (1u << 26));                       /* PF_XMMI64_INSTRUCTIONS_AVAILABLE */
    ADD(12, 1);                                    /* PF_NX_ENABLED */
    ADD(13, c & (1u << 0));                        /* PF_SSE3_INSTRUCTIONS_AVAILABLE */
    ADD(14, c & (1u << 13));                       /* PF_COMPARE_EXCHANGE128 */
    ADD(17, c & (1u << 27));                       /* PF_XSAVE_ENABLED */
    ADD(22, b7 & (1u << 0));                       /* PF_RDWRFSGSBASE_AVAILABLE */
    ADD(23, 1);                                    /* PF_FASTFAIL_AVAILABLE */
    ADD(28, c & (1u << 30));                       /* PF_RDRAND_INSTRUCTION_AVAILABLE */
    ADD(36, c & (1u << 9));                        /* PF_SSSE3_INSTRUCTIONS_AVAILABLE */
    ADD(37, c & (1u << 19));                       /* PF_SSE4_1_INSTRUCTIONS_AVAILABLE */
    ADD(38, c & (1u << 20));                       /* PF_SSE4_2_INSTRUCTIONS_AVAILABLE */
    ADD(39, (c & (3u << 27)) == (3u << 27));       /* PF_AVX_INSTRUCTIONS_AVAILABLE: AVX and enabled by the system */
    ADD(40, (c & (1u << 27)) && (b7 & (1u << 5))); /* PF_AVX2_INSTRUCTIONS_AVAILABLE */
#undef ADD
    while (n--)
        features[table[n].index] = table[n].present != 0;
}

/*
 * set_xstate describes the processor's extended state (XSTATE_CONFIGURATION at 0x3d8): without it exceptions would lose
 * the upper halves of AVX registers.
 */
static void set_xstate(BYTE *data)
{
    unsigned a, b, c, d, size;
    ULONG *x = (ULONG *)(void *)(data + 0x3d8);

    if (!data[0x274 + 39])
        return;
    if (!__get_cpuid_count(0xd, 0, &a, &b, &c, &d) || !(a & 4))
        return;
    size = b;
    *(ULONGLONG *)(void *)(x + 0) = 7; /* EnabledFeatures: x87, SSE, AVX */
    *(ULONGLONG *)(void *)(x + 2) = 7; /* EnabledVolatileFeatures */
    x[4] = 512 + 64 + 256;             /* Size: legacy area, header, upper halves */
    x[6] = 0, x[7] = 160;              /* Features[0]: offset and size of the x87 part */
    x[8] = 160, x[9] = 256;            /* Features[1]: XMM */
    x[10] = 512 + 64, x[11] = 256;     /* Features[2]: upper halves of YMM */
    x[0x228 / 4] = size;               /* AllFeatureSize */
    x[0x22c / 4] = 160, x[0x230 / 4] = 256, x[0x234 / 4] = 256;
    __get_cpuid_count(0xd, 1, &a, &b, &c, &d);
    x[5] = (a & 1) | (a & 2); /* OptimizedSave, CompactionEnabled */
}

static void set_shared_data(void)
{
    OBJECT_ATTRIBUTES attributes = {.Length = sizeof(attributes)};
    OSVERSIONINFOEXW version = {.dwOSVersionInfoSize = sizeof(version)};
    MEMORYSTATUSEX memory = {.dwLength = sizeof(memory)};
    SYSTEM_INFO system;
    UNICODE_STRING name;
    HANDLE section;
    BYTE *data;

    init_string(&name, L"\\KernelObjects\\__wine_user_shared_data");
    attributes.ObjectName = &name;
    if (NtOpenSection(&section, SECTION_ALL_ACCESS, &attributes))
        return;
    data = MapViewOfFile(section, FILE_MAP_WRITE, 0, 0, 0x1000);
    CloseHandle(section);
    if (!data)
        return;
    RtlGetVersion(&version);
    GetSystemInfo(&system);
    GlobalMemoryStatusEx(&memory);
    *(ULONG *)(void *)(data + 0x004) = 1u << 24;                   /* TickCountMultiplier */
    run_str_copy((WCHAR *)(void *)(data + 0x030), L"C:\\windows"); /* NtSystemRoot */
    *(ULONG *)(void *)(data + 0x244) = 2u << 20;                   /* LargePageMinimum */
    *(ULONG *)(void *)(data + 0x260) = version.dwBuildNumber;
    *(ULONG *)(void *)(data + 0x264) = version.wProductType;
    data[0x268] = TRUE; /* ProductTypeIsValid */
    *(USHORT *)(void *)(data + 0x26a) = system.wProcessorArchitecture;
    *(ULONG *)(void *)(data + 0x26c) = version.dwMajorVersion;
    *(ULONG *)(void *)(data + 0x270) = version.dwMinorVersion;
    set_features(data + 0x274);
    *(ULONG *)(void *)(data + 0x2d0) = version.wSuiteMask;
    data[0x2d5] = 2; /* NXSupportPolicy: opt-in */
    *(ULONG *)(void *)(data + 0x2e8) = (ULONG)(memory.ullTotalPhys >> 12);
    *(ULONG *)(void *)(data + 0x3c0) = system.dwNumberOfProcessors;
    data[0x3c4] = 1; /* ActiveGroupCount */
    set_xstate(data);
    UnmapViewOfFile(data);
}

static HANDLE volatile_key(const WCHAR *path)
{
    OBJECT_ATTRIBUTES attributes = {.Length = sizeof(attributes), .Attributes = OBJ_CASE_INSENSITIVE};
    UNICODE_STRING name;
    HANDLE key = NULL;

    init_string(&name, path);
    attributes.ObjectName = &name;
    NtCreateKey(&key, KEY_ALL_ACCESS, &attributes, 0, NULL, REG_OPTION_VOLATILE, NULL);
    return key;
}

static void set_value(HANDLE key, const WCHAR *name, const WCHAR *text)
{
    UNICODE_STRING value;

    init_string(&value, name);
    NtSetValueKey(key, &value, 0, REG_SZ, text, (ULONG)((run_str_len(text) + 1) * sizeof(WCHAR)));
}

static void set_dword(HANDLE key, const WCHAR *name, DWORD number)
{
    UNICODE_STRING value;

    init_string(&value, name);
    NtSetValueKey(key, &value, 0, REG_DWORD, &number, sizeof(number));
}

/* processor_mhz reads the clock rate from the Linux kernel; 0 if the kernel does not say it. */
static DWORD processor_mhz(void)
{
    DWORD size = 0, mhz = 0;
    const char *key = "cpu MHz", *p = run_unix_read(L"/proc/cpuinfo", &size);
    int i;

    if (!p)
        return 0;
    for (; *p; p++)
    {
        for (i = 0; key[i] && p[i] == key[i]; i++)
        {
        }
        if (key[i])
            continue;
        for (p += i; *p && (*p < '0' || *p > '9'); p++)
        {
        }
        for (; *p >= '0' && *p <= '9'; p++)
            mhz = mhz * 10 + (DWORD)(*p - '0');
        break;
    }
    return mhz;
}

static void set_hardware_keys(const struct cpu *cpu)
{
    static const WCHAR *const levels[] = {L"", L"\\DESCRIPTION", L"\\DESCRIPTION\\System",
                                          L"\\DESCRIPTION\\System\\CentralProcessor"};
    const WCHAR *base = L"\\Registry\\Machine\\HARDWARE";
    DWORD mhz = processor_mhz();
    SYSTEM_INFO system;
    WCHAR digits[24];

    GetSystemInfo(&system);
    for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        CloseHandle(volatile_key(run_str_concat(base, levels[i], L"")));
    for (DWORD i = 0; i < system.dwNumberOfProcessors; i++)
    {
        HANDLE key = volatile_key(
            run_str_concat(base, L"\\DESCRIPTION\\System\\CentralProcessor\\", run_str_from_number(i, digits)));

        set_value(key, L"Identifier", cpu->identifier);
        set_value(key, L"ProcessorNameString", cpu->name);
        set_value(key, L"VendorIdentifier", cpu->vendor);
        set_dword(key, L"~MHz", mhz);
        CloseHandle(key);
    }
}

/* host_name returns the Linux host name of the container, whole: a pod's may have dots in it (hostnameOverride). */
static const WCHAR *host_name(void)
{
    DWORD size = 0;
    char *text = run_unix_read(L"/proc/sys/kernel/hostname", &size);
    WCHAR *name;
    DWORD n = 0;

    if (!text)
        return L"";
    name = run_mem_alloc((size + 1) * sizeof(WCHAR));
    for (; n < size && text[n] != '\n'; n++)
        name[n] = (unsigned char)text[n];
    return name;
}

static void set_names(void)
{
    const WCHAR *host = host_name();
    WCHAR name[MAX_COMPUTERNAME_LENGTH + 1];
    DWORD size = 0;
    HANDLE key;

    if (!*host)
        return;
    /* not SetComputerNameExW, which refuses a name with dots */
    key = volatile_key(L"\\Registry\\Machine\\System\\CurrentControlSet\\Services\\Tcpip\\Parameters");
    set_value(key, L"Hostname", host);
    set_value(key, L"NV Hostname", host);
    CloseHandle(key);
    /* the NetBIOS name: 15 characters, upper case, none of them a dot */
    for (; host[size] && host[size] != '.' && size < MAX_COMPUTERNAME_LENGTH; size++)
        name[size] = host[size] >= 'a' && host[size] <= 'z' ? (WCHAR)(host[size] - 'a' + 'A') : host[size];
    name[size] = 0;
    key = volatile_key(L"\\Registry\\Machine\\System\\CurrentControlSet\\Control\\ComputerName\\ActiveComputerName");
    set_value(key, L"ComputerName", name);
    CloseHandle(key);
    /* Windows' name after its next start: Wine's is that of the machine on which the prefix was made */
    key = volatile_key(L"\\Registry\\Machine\\System\\CurrentControlSet\\Control\\ComputerName\\ComputerName");
    set_value(key, L"ComputerName", name);
    CloseHandle(key);
}

/*
 * run_set_dns_search writes the DNS suffixes to the place in the registry where Windows has them
 * (https://learn.microsoft.com/troubleshoot/windows-client/networking/configure-domain-suffix-search-list-domain-name-system-clients).
 * It is for programs that read them there; names are resolved by Wine.
 */
void run_set_dns_search(const WCHAR *list)
{
    static const WCHAR *const levels[] = {L"", L"\\Parameters", L"\\Parameters\\Interfaces"};
    const WCHAR *base = L"\\Registry\\Machine\\System\\CurrentControlSet\\Services\\Tcpip";

    if (!list)
        return;
    for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
    {
        HANDLE key = volatile_key(run_str_concat(base, levels[i], L""));

        if (i == 1)
            set_value(key, L"SearchList", list);
        CloseHandle(key);
    }
}

/*
 * run_boot_prefix does all of the above once in the life of a prefix. The event is Wine's own: while it exists, Wine's
 * loader starts no wineboot.exe, but waits for the event to be set. So every mullion-run.exe that finds it unset does
 * the work and sets it, even if another one is doing the same (all of the above may be repeated). The event's handle
 * stays open as long as this process runs. It returns whether this process has done it.
 */
BOOL run_boot_prefix(void)
{
    OBJECT_ATTRIBUTES attributes = {.Length = sizeof(attributes), .Attributes = OBJ_OPENIF};
    UNICODE_STRING name;
    struct cpu cpu;
    HANDLE event;

    init_string(&name, L"\\KernelObjects\\__wineboot_event");
    attributes.ObjectName = &name;
    if (NtCreateEvent(&event, EVENT_ALL_ACCESS, &attributes, 0 /* NotificationEvent */, FALSE) < 0)
        return FALSE;
    if (WaitForSingleObject(event, 0) == WAIT_OBJECT_0)
        return FALSE;
    read_cpu(&cpu);
    set_shared_data();
    set_hardware_keys(&cpu);
    set_names();
    SetEvent(event);
    return TRUE;
}
