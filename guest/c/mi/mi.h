/*
 * mi.dll: Windows' Management Infrastructure, for programs that query WMI through it. Wine has WMI's older interface,
 * COM, and no mi.dll. A query is carried out by COM's IWbemServices (query.c), which is Wine's: what Wine's WMI has,
 * this has. Whatever else the interface can do answers MI_RESULT_NOT_SUPPORTED.
 *
 * The layouts, the order of the functions in their tables and the numbers are those of mi.h of the Windows
 * SDK 10.0.22621, described in https://learn.microsoft.com/windows/win32/api/mi/ and
 * https://learn.microsoft.com/previous-versions/windows/desktop/wmi_v2/.
 */
#ifndef MULLION_MI_H
#define MULLION_MI_H

#include <windows.h>

typedef DWORD MI_Result;
typedef BYTE MI_Boolean;

/* clang-format off */
enum
{
    MI_RESULT_OK = 0, MI_RESULT_FAILED = 1, MI_RESULT_ACCESS_DENIED = 2, MI_RESULT_INVALID_NAMESPACE = 3,
    MI_RESULT_INVALID_PARAMETER = 4, MI_RESULT_INVALID_CLASS = 5, MI_RESULT_NOT_FOUND = 6, MI_RESULT_NOT_SUPPORTED = 7,
    MI_RESULT_NO_SUCH_PROPERTY = 12, MI_RESULT_TYPE_MISMATCH = 13, MI_RESULT_QUERY_LANGUAGE_NOT_SUPPORTED = 14,
    MI_RESULT_INVALID_QUERY = 15, MI_RESULT_SERVER_LIMITS_EXCEEDED = 25
};

enum
{
    MI_BOOLEAN, MI_UINT8, MI_SINT8, MI_UINT16, MI_SINT16, MI_UINT32, MI_SINT32, MI_UINT64, MI_SINT64, MI_REAL32,
    MI_REAL64, MI_CHAR16, MI_DATETIME, MI_STRING, MI_REFERENCE, MI_INSTANCE, MI_ARRAY = 16
};

enum { MI_FLAG_CLASS = 1 << 0, MI_FLAG_PROPERTY = 1 << 2, MI_FLAG_NULL = 1 << 29 };
/* clang-format on */

/* A date, or a length of time if it is no timestamp. */
struct mi_datetime
{
    DWORD is_timestamp;
    union
    {
        struct
        {
            DWORD year, month, day, hour, minute, second, microseconds;
            LONG utc; /* minutes east of UTC */
        } timestamp;
        struct
        {
            DWORD days, hours, minutes, seconds, microseconds, padding[3];
        } interval;
    };
};

struct mi_array
{
    void *data;
    DWORD size;
};

/* What a value points to lives as long as its instance. */
union mi_value
{
    MI_Boolean boolean;
    BYTE bytes[8];
    LONGLONG number;
    double real64;
    float real32;
    WCHAR *string;
    void *instance;
    struct mi_array array;
    struct mi_datetime datetime;
};

struct mi_instance;

/* The declarations of a class, for programs that walk them: only names and types are known. */
struct mi_property_decl
{
    DWORD flags, code;
    const WCHAR *name;
    const void *qualifiers;
    DWORD qualifier_count, type;
    const WCHAR *class_name;
    DWORD subscript, offset;
    const WCHAR *origin, *propagator;
    const void *value;
};

struct mi_class_decl
{
    DWORD flags, code;
    const WCHAR *name;
    const void *qualifiers;
    DWORD qualifier_count;
    const struct mi_property_decl *const *properties;
    DWORD property_count, size;
    const WCHAR *super_class;
    const void *super_class_decl, *methods;
    DWORD method_count;
    const void *schema, *provider, *owning_class;
};

/* What a program holds of an application, a session, an operation or options: functions is the table of its kind. */
struct mi_handle
{
    ULONGLONG reserved;
    void *object;
    const void *functions;
};

struct mi_callbacks
{
    void *context;
    void *prompt_user, *write_error, *write_message, *write_progress;
    void(WINAPI *instance_result)(struct mi_handle *operation, void *context, const struct mi_instance *instance,
                                  MI_Boolean more, MI_Result result, const WCHAR *error,
                                  const struct mi_instance *details,
                                  MI_Result(WINAPI *acknowledge)(struct mi_handle *operation));
    void(WINAPI *indication_result)(struct mi_handle *operation, void *context, const struct mi_instance *instance,
                                    const WCHAR *bookmark, const WCHAR *machine, MI_Boolean more, MI_Result result,
                                    const WCHAR *error, const struct mi_instance *details,
                                    MI_Result(WINAPI *acknowledge)(struct mi_handle *operation));
    void(WINAPI *class_result)(struct mi_handle *operation, void *context, const void *class, MI_Boolean more,
                               MI_Result result, const WCHAR *error, const struct mi_instance *details,
                               MI_Result(WINAPI *acknowledge)(struct mi_handle *operation));
    void *streamed_parameter_result;
};

/* refuse.c: every function of a table that nothing here implements. */
MI_Result WINAPI mi_not_supported(void);

/* convert.c */
MI_Result mi_result_of(HRESULT error);
BOOL mi_parse_datetime(const WCHAR *text, struct mi_datetime *out);
BOOL mi_namespace_path(WCHAR *path, size_t room, const WCHAR *name);
BOOL mi_class_of_query(WCHAR *class, size_t room, const WCHAR *query);
int mi_type_of(LONG cim_type);
size_t mi_size_of(int type);

/* instance.c: instances are made by adding elements, and owned by whom has made them. */
struct mi_instance *mi_new_instance(const WCHAR *class, const WCHAR *space);
BOOL mi_add_element(struct mi_instance *instance, const WCHAR *name, int type, const union mi_value *value);
void *mi_instance_memory(struct mi_instance *instance, size_t size);
WCHAR *mi_instance_text(struct mi_instance *instance, const WCHAR *text);
void mi_free_instance(struct mi_instance *instance);

/* options.c, session.c */
void mi_init_options(struct mi_handle *options, BOOL for_destination);
void mi_init_application(struct mi_handle *application);

/* operation.c */
enum mi_kind
{
    MI_OF_INSTANCES,
    MI_OF_INDICATIONS,
    MI_OF_CLASSES,
};

struct mi_operation;

/* Starts a query, which a thread of its own carries out. */
MI_Result mi_start_query(struct mi_handle *operation, const struct mi_handle *session, const WCHAR *space,
                         const WCHAR *query, const struct mi_callbacks *callbacks);
/* Starts an operation whose only result is this one. */
MI_Result mi_start_ended(struct mi_handle *operation, const struct mi_handle *session, enum mi_kind kind,
                         MI_Result result, const struct mi_callbacks *callbacks);

/* A query, and who takes what it finds: FALSE if nobody wants more. */
struct mi_query
{
    const WCHAR *space, *text;
    BOOL (*deliver)(struct mi_operation *operation, struct mi_instance *instance);
    struct mi_operation *operation;
};

/* query.c: carries out a query, and delivers its instances. */
HRESULT mi_run_query(const struct mi_query *query);

#endif
