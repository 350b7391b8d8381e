/* What programs get that ask for what is not here. */
#include "mi.h"

MI_Result WINAPI mi_not_supported(void)
{
    return MI_RESULT_NOT_SUPPORTED;
}
