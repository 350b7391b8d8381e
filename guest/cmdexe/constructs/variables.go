package constructs

import "strings"

func variablesRows() []Construct {
	return []Construct{
		{Name: "undefined_variable", Script: `echo [%nosuch%] [%nosuch:~0,1%]`, Out: "[] [~0,1]\n"},
		{Name: "percent", Script: `echo 100%% %%OS%% %OS% %`, Out: "100% %OS% Windows_NT \n"},
		{
			Name: "substrings", Script: "set v=qwerty\necho %v:~0,1% %v:~2,2% %v:~-2% %v:~1,-1% %v:~-3,2% [%v:~9%] %v:~2%",
			Out: "q er ty wert rt [] erty\n",
		},
		{Name: "replacements", Script: "set v=a-b-A\necho %v:-=+% %v:a=x% %v:*b=z% %v:-=%", Out: "a+b+A x-b-x z-A abA\n"},
		{Name: "quotes_taken_off", Script: "set v=\"C:\\x y\"\nset v=%v:\"=%\necho %v%", Out: "C:\\x y\n"},
		{Name: "errorlevel_as_a_variable", Script: "set errorlevel=7\nprog 3\necho %errorlevel%", Out: "7\n", Code: 3},
		{Name: "block_expands_at_once", Script: "set v=1\n(\nset v=2\necho %v%\n)\necho %v%", Out: "1\n2\n"},
		{Name: "long_line_of_a_variable", Script: "set v=" + strings.Repeat("x", 5000) + "\necho %v%%v%", Err: "The input line is too long.\n", Code: 255},
		{Name: "long_value", Script: "setlocal enabledelayedexpansion\nset v=" + strings.Repeat("x", 5000) + "\nset v=!v!!v!", Err: "The input line is too long.\n", Code: 1},
		{Name: "utf8", Script: "set v=größe €\necho %v% %v:~2,1%\nfor %%i in (ü) do echo %%i", Out: "größe € ö\nü\n"},
		{Name: "wrong_replacement", Script: "set v=a\necho %v:=x%", Err: "=x% was unexpected at this time.\n", Code: 255},
		{Name: "percent_stays", Line: `echo %nosuch% 100% %1 %*`, Out: "%nosuch% 100% %1 %*\n"},
		{Name: "percent_twice", Line: `echo %%OS%%`, Out: "%Windows_NT%\n"},
		{Name: "percent_variable", Line: `echo %OS%-%os%`, Out: "Windows_NT-Windows_NT\n"},
		{Name: "percent_before_the_line_runs", Line: `set v=1& echo %v%`, Out: "%v%\n"},
		{Name: "dynamic_variables", Line: `echo %DATE% %TIME% %RANDOM% %CMDEXTVERSION% %CD% %ERRORLEVEL%`, Out: "Sun 11/29/2026  4:05:06.07 12345 2 C:\\w 0\n"},
		{Name: "cmdcmdline", Line: `echo %CMDCMDLINE%`, Out: "cmd /c echo %CMDCMDLINE%\n"},
		{Name: "part_before_the_beginning", Script: "set v=abc\necho %v:~-9% %v:~-9,2%", Out: "abc ab\n"},
		{Name: "part_of_no_length", Script: "set v=abc\necho [%v:~1,0%]", Out: "[]\n"},
		{Name: "last_character", Script: "set v=C:\\x\\\nif \"%v:~-1%\"==\"\\\" set v=%v:~0,-1%\necho %v%", Out: "C:\\x\n"},
		{Name: "replacement_of_nothing", Script: "set v=abc\necho %v:x=y% %v:*x=z%", Out: "abc abc\n"},
		{Name: "replacement_of_a_blank", Script: "set v=a b c\necho %v: =_%", Out: "a_b_c\n"},
		{Name: "replacement_by_a_variable", Script: "set v=a-b\nset r=+\ncall echo %%v:-=%r%%%", Out: "a+b\n"},
		{Name: "name_with_a_blank", Script: "set my var=1\necho %my var%", Out: "1\n"},
		{Name: "name_in_other_letters", Script: "set Ab=1\necho %aB%", Out: "1\n"},
		{Name: "name_with_parentheses", Script: "set a(b)=1\necho %a(b)%", Out: "1\n"},
		{Name: "part_that_is_computed", Script: "set s=abcdef\nset n=2\ncall echo %%s:~%n%,1%%", Out: "c\n"},
		{Name: "part_of_a_dynamic_variable", Script: "echo %cd:~0,2% %date:~0,3% %time: =0%", Out: "C: Sun 04:05:06.07\n"},
		{Name: "exit_code_in_hexadecimal", Script: "prog 17\necho %=ExitCode%", Out: "00000011\n", Code: 17, Source: ss64 + "set.html"},
		{Name: "errorlevel_in_a_block", Script: "(\nprog 5\necho %errorlevel%\n)", Out: "0\n", Code: 5},
		{Name: "percents", Script: "echo 50%% of %%x%%", Out: "50% of %x%\n"},
		{Name: "percent_alone", Script: "echo 100% sure", Out: "100 sure\n"},
		{Name: "value_with_quotes", Script: "set \"v=a\"b\"c\"\necho %v%", Out: "a\"b\"c\n", Source: ss64 + "set.html"},
		{Name: "number_of_nodes", Script: "echo %HIGHESTNUMANODENUMBER%", Out: "0\n", Source: ss64 + "syntax-variables.html"},
		{Name: "variable_of_a_name_in_a_variable", Script: "set x=1\nset n=x\ncall set y=%%%n%%%\necho %y%", Out: "1\n"},
		{Name: "split_at_a_mark", Script: "set v=key=value\nfor /f \"tokens=1* delims==\" %%a in (\"%v%\") do echo %%a: %%b", Out: "key: value\n"},
	}
}
