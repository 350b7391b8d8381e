/* Values of WMI's COM interface as those of mi.dll. */
#include "mi.h"

/* clang-format off */
/* Types of properties and errors of wbemcli.h of the Windows SDK. */
enum
{
    CIM_SINT16 = 2, CIM_SINT32 = 3, CIM_REAL32 = 4, CIM_REAL64 = 5, CIM_STRING = 8, CIM_BOOLEAN = 11, CIM_OBJECT = 13,
    CIM_SINT8 = 16, CIM_UINT8 = 17, CIM_UINT16 = 18, CIM_UINT32 = 19, CIM_SINT64 = 20, CIM_UINT64 = 21,
    CIM_DATETIME = 101, CIM_REFERENCE = 102, CIM_CHAR16 = 103, CIM_FLAG_ARRAY = 0x2000
};
/* clang-format on */

/* -1 if there is no such type. */
int mi_type_of(LONG cim_type)
{
    static const struct
    {
        int cim, type;
    } types[] = {
        {CIM_BOOLEAN, MI_BOOLEAN}, {CIM_UINT8, MI_UINT8},       {CIM_SINT8, MI_SINT8},
        {CIM_UINT16, MI_UINT16},   {CIM_SINT16, MI_SINT16},     {CIM_UINT32, MI_UINT32},
        {CIM_SINT32, MI_SINT32},   {CIM_UINT64, MI_UINT64},     {CIM_SINT64, MI_SINT64},
        {CIM_REAL32, MI_REAL32},   {CIM_REAL64, MI_REAL64},     {CIM_CHAR16, MI_CHAR16},
        {CIM_STRING, MI_STRING},   {CIM_DATETIME, MI_DATETIME}, {CIM_REFERENCE, MI_REFERENCE},
        {CIM_OBJECT, MI_INSTANCE},
    };

    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (types[i].cim == (cim_type & ~CIM_FLAG_ARRAY))
            return types[i].type | (cim_type & CIM_FLAG_ARRAY ? MI_ARRAY : 0);
    return -1;
}

/* How many bytes of a value a type has. */
size_t mi_size_of(int type)
{
    if (type & MI_ARRAY)
        return sizeof(struct mi_array);
    switch (type)
    {
    case MI_BOOLEAN:
    case MI_UINT8:
    case MI_SINT8: return 1;
    case MI_UINT16:
    case MI_SINT16:
    case MI_CHAR16: return 2;
    case MI_UINT32:
    case MI_SINT32:
    case MI_REAL32: return 4;
    case MI_DATETIME: return sizeof(struct mi_datetime);
    default: return 8;
    }
}

MI_Result mi_result_of(HRESULT error)
{
    if (error >= 0)
        return MI_RESULT_OK;
    switch ((DWORD)error)
    {
    case 0x80041002: return MI_RESULT_NOT_FOUND;
    case 0x80041003: /* WBEM_E_ACCESS_DENIED */
    case 0x80070005: return MI_RESULT_ACCESS_DENIED;
    case 0x80041008: /* WBEM_E_INVALID_PARAMETER */
    case 0x80070057: return MI_RESULT_INVALID_PARAMETER;
    case 0x8004100C: /* WBEM_E_NOT_SUPPORTED */
    case 0x80041024: /* WBEM_E_PROVIDER_NOT_CAPABLE */
    case 0x80004001: return MI_RESULT_NOT_SUPPORTED;
    case 0x8004100E: return MI_RESULT_INVALID_NAMESPACE;
    case 0x80041010: return MI_RESULT_INVALID_CLASS;
    case 0x80041017:                                 /* WBEM_E_INVALID_QUERY */
    case 0x80041058: return MI_RESULT_INVALID_QUERY; /* WBEM_E_UNPARSABLE_QUERY */
    case 0x80041018: return MI_RESULT_QUERY_LANGUAGE_NOT_SUPPORTED;
    case 0x80041006: /* WBEM_E_OUT_OF_MEMORY */
    case 0x8007000E: return MI_RESULT_SERVER_LIMITS_EXCEEDED;
    default: return MI_RESULT_FAILED;
    }
}

static BOOL take_digits(const WCHAR **at, int digits, DWORD *out)
{
    *out = 0;
    for (int i = 0; i < digits; i++, (*at)++)
    {
        if (**at == '*')
            continue; /* not known */
        if (**at < '0' || **at > '9')
            return FALSE;
        *out = *out * 10 + (DWORD)(**at - '0');
    }
    return TRUE;
}

/*
 * yyyymmddHHMMSS.mmmmmm+UUU, or ddddddddHHMMSS.mmmmmm:000 for a length of time:
 * https://learn.microsoft.com/windows/win32/wmisdk/cim-datetime
 */
BOOL mi_parse_datetime(const WCHAR *text, struct mi_datetime *out)
{
    const struct mi_datetime none = {0};
    DWORD date, hour, minute, second, micro, zone;
    const WCHAR *at = text;
    WCHAR sign;

    *out = none;
    if (!take_digits(&at, 8, &date) || !take_digits(&at, 2, &hour) || !take_digits(&at, 2, &minute) ||
        !take_digits(&at, 2, &second) || *at++ != '.' || !take_digits(&at, 6, &micro) || !(sign = *at++) ||
        !take_digits(&at, 3, &zone) || *at)
        return FALSE;
    if (sign == ':')
    {
        out->interval.days = date;
        out->interval.hours = hour;
        out->interval.minutes = minute;
        out->interval.seconds = second;
        out->interval.microseconds = micro;
        return TRUE;
    }
    if (sign != '+' && sign != '-')
        return FALSE;
    out->is_timestamp = 1;
    out->timestamp.year = date / 10000;
    out->timestamp.month = date / 100 % 100;
    out->timestamp.day = date % 100;
    out->timestamp.hour = hour;
    out->timestamp.minute = minute;
    out->timestamp.second = second;
    out->timestamp.microseconds = micro;
    out->timestamp.utc = sign == '-' ? -(LONG)zone : (LONG)zone;
    return TRUE;
}

/* The namespace as COM has it: with backslashes; the one that a program leaves out is root\cimv2. */
BOOL mi_namespace_path(WCHAR *path, size_t room, const WCHAR *name)
{
    size_t i;

    if (!name || !*name)
        name = L"root\\cimv2";
    for (i = 0; name[i] && i + 1 < room; i++)
        path[i] = name[i] == '/' ? '\\' : name[i];
    path[i] = 0;
    return !name[i];
}

static BOOL is_word_end(WCHAR c)
{
    return !c || c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The class that a query selects from: the word after FROM. */
BOOL mi_class_of_query(WCHAR *class, size_t room, const WCHAR *query)
{
    static const char from[] = "FROM";
    size_t length = 0;

    for (const WCHAR *word = query; *word; word++)
    {
        int i = 0;

        if (word != query && !is_word_end(word[-1]))
            continue;
        while (i < 4 && (word[i] & ~0x20) == from[i])
            i++;
        if (i < 4 || !word[4] || !is_word_end(word[4]))
            continue;
        for (word += 4; *word && is_word_end(*word); word++)
        {
        }
        for (; !is_word_end(word[length]) && length + 1 < room; length++)
            class[length] = word[length];
        class[length] = 0;
        return length > 0 && is_word_end(word[length]);
    }
    return FALSE;
}
