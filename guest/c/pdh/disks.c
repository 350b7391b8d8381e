/* The tables of drives and disks, from /proc/diskstats. */
#include "scan.h"

enum
{
    SECTOR = 512,
    MEGABYTE = 1048576,
    DISK_COLUMNS = 11,
};

/* A line of /proc/diskstats. */
struct device
{
    unsigned major, minor;
    const char *name, *name_end;
    LONGLONG column[DISK_COLUMNS];
};

static BOOL take_device(const char *line, struct device *device)
{
    LONGLONG major, minor;
    int columns = 0;

    if (!pdh_take_number(&line, &major) || !pdh_take_number(&line, &minor))
        return FALSE;
    device->major = (unsigned)major;
    device->minor = (unsigned)minor;
    device->name = line = pdh_skip_blanks(line);
    while (*line && *line != ' ' && *line != '\n')
        line++;
    device->name_end = line;
    while (columns < DISK_COLUMNS && pdh_take_number(&line, &device->column[columns]))
        columns++;
    return columns == DISK_COLUMNS;
}

/*
 * Adds a device's figures: reads, merged, sectors, milliseconds; the same of writes; requests under way; milliseconds
 * with any. The requests' own times add up to more than the time that passes, if there are several at once.
 */
static void add_device(struct row *row, const struct device *device, LONGLONG uptime)
{
    const LONGLONG *c = device->column;
    LONGLONG read_time = c[3] * (TIME_BASE / 1000), write_time = c[7] * (TIME_BASE / 1000),
             busy = c[9] * (TIME_BASE / 1000);

    pdh_add_to(row, DISK_READS, c[0]);
    pdh_add_to(row, DISK_READ_BYTES, c[2] * SECTOR);
    pdh_add_to(row, DISK_READ_TIME, read_time);
    pdh_add_to(row, DISK_WRITES, c[4]);
    pdh_add_to(row, DISK_WRITE_BYTES, c[6] * SECTOR);
    pdh_add_to(row, DISK_WRITE_TIME, write_time);
    pdh_add_to(row, DISK_QUEUE, c[8]);
    pdh_add_to(row, DISK_TRANSFERS, c[0] + c[4]);
    pdh_add_to(row, DISK_BYTES, (c[2] + c[6]) * SECTOR);
    pdh_add_to(row, DISK_TRANSFER_TIME, read_time + write_time);
    pdh_add_to(row, DISK_IDLE, uptime > busy ? uptime - busy : 0);
}

/* Each drive, C:, with the figures of the disk that it is on, if that is known. */
void pdh_parse_volumes(struct table *out, const char *diskstats, LONGLONG uptime, const struct drive *drives, int count)
{
    struct row total = {L"_Total", 0, {0}}, *row;
    int known = 0;

    for (int i = 0; i < count; i++)
    {
        WCHAR name[] = {drives[i].letter, ':', 0};
        struct device device;

        row = pdh_add_row(out, name);
        pdh_set_field(row, DISK_FREE_MB, drives[i].free / MEGABYTE);
        pdh_set_field(row, DISK_SIZE_MB, drives[i].size / MEGABYTE);
        pdh_add_to(&total, DISK_FREE_MB, drives[i].free / MEGABYTE);
        pdh_add_to(&total, DISK_SIZE_MB, drives[i].size / MEGABYTE);
        for (const char *line = diskstats; drives[i].on_device && line && *line; line = pdh_next_line(line))
        {
            if (!take_device(line, &device) || device.major != drives[i].major || device.minor != drives[i].minor)
                continue;
            add_device(row, &device, uptime);
            add_device(&total, &device, uptime);
            known++;
            break;
        }
    }
    if (!count)
        return;
    if (known)
        total.value[DISK_IDLE] /= known;
    if ((row = pdh_add_row(out, L"_Total")))
        *row = total;
}

static BOOL ends_in_digit(const struct device *device)
{
    return device->name_end > device->name && device->name_end[-1] >= '0' && device->name_end[-1] <= '9';
}

/*
 * Whether a device is a whole disk: no partition (sda1, nvme0n1p1) and nothing that is made of other disks or of memory
 * (dm-0, md0, loop0, ram0, zram0, sr0).
 */
static BOOL is_disk(const struct device *device)
{
    static const char *const letters[] = {"sd", "vd", "xvd", "hd"}, *const numbers[] = {"nvme", "mmcblk", "nbd"};

    for (unsigned i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
        if (pdh_after(device->name, letters[i]))
            return !ends_in_digit(device);
    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
    {
        const char *at = pdh_after(device->name, numbers[i]);

        if (!at)
            continue;
        for (; at < device->name_end; at++)
            if (*at == 'p' || *at == 'b') /* mmcblk0p1, mmcblk0boot0 */
                return FALSE;
        return TRUE;
    }
    return FALSE;
}

/* Whether the second device is the first or one of its partitions, by its name. */
static BOOL on_disk(const struct device *disk, const struct device *part)
{
    const char *a = disk->name, *b = part->name;

    while (a < disk->name_end && b < part->name_end && *a == *b)
        a++, b++;
    if (a < disk->name_end)
        return FALSE;
    if (b < part->name_end && *b == 'p' && ends_in_digit(disk))
        b++;
    while (b < part->name_end && *b >= '0' && *b <= '9')
        b++;
    return b == part->name_end;
}

/* The name of a disk on Windows: its number, and the drives on it ("0 C:"). */
static void disk_name(WCHAR *name, unsigned long number, const struct device *disk, const char *diskstats,
                      const struct drive *drives, int count)
{
    size_t at = 0;

    pdh_number_name(name, L"", number);
    while (name[at])
        at++;
    for (int i = 0; i < count; i++)
        for (const char *line = diskstats; drives[i].on_device && *line; line = pdh_next_line(line))
        {
            struct device device;

            if (!take_device(line, &device) || device.major != drives[i].major || device.minor != drives[i].minor ||
                !on_disk(disk, &device))
                continue;
            name[at++] = ' ';
            name[at++] = drives[i].letter;
            name[at++] = ':';
            break;
        }
    name[at] = 0;
}

void pdh_parse_disks(struct table *out, const char *diskstats, LONGLONG uptime, const struct drive *drives, int count)
{
    struct row total = {L"_Total", 0, {0}}, *row;
    unsigned long disks = 0;

    for (const char *line = diskstats; *line; line = pdh_next_line(line))
    {
        WCHAR name[NAME_MAX_CHARS];
        struct device device;

        if (!take_device(line, &device) || !is_disk(&device))
            continue;
        disk_name(name, disks++, &device, diskstats, drives, count);
        row = pdh_add_row(out, name);
        add_device(row, &device, uptime);
        add_device(&total, &device, uptime);
    }
    if (!disks)
        return;
    total.value[DISK_IDLE] /= (LONGLONG)disks;
    if ((row = pdh_add_row(out, L"_Total")))
        *row = total;
}
