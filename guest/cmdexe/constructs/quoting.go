package constructs

import "strings"

func quotingRows() []Construct {
	return []Construct{
		{Name: "no_newline_at_the_end", Script: "echo a\necho b", Out: "a\nb\n"},
		{Name: "long_line", Script: "echo " + strings.Repeat("x", 9000), Err: "The input line is too long.\n", Code: 255},
		{Name: "binary", Script: "\x7fELF\x02\x01\x00\x00\x00\xff 2>nul\necho %errorlevel%", Out: "9009\n", Code: 9009},
		{Name: "caret_at_the_end", Script: "echo a ^\n  b", Out: "a   b\n"},
		{Name: "one_quote_pair", Line: `"echo a"`, Out: "a\n"},
		{Name: "quotes_inside", Line: `"echo "a b""`, Out: "\"a b\"\n"},
		{
			Name: "quotes_of_two_words", Line: `"C:\bin\line.exe" "a b"`, Code: 1, // the first and the last quote are taken off
			Err: "'C:\\bin\\line.exe\" \"a' is not recognized as an internal or external command,\noperable program or batch file.\n",
		},
		{Name: "quotes_around_all", Line: `""C:\bin\line.exe" "a b""`, Out: "[\"C:\\bin\\line.exe\" \"a b\"]\n"},
		{Name: "raw_command_line", Line: `line  a   "b  c" d^&e`, Out: "[line  a   \"b  c\" d&e]\n"},
		{Name: "program_with_ending", Line: `line.exe x`, Out: "[line.exe x]\n"},
		{Name: "program_in_a_folder", Line: `..\bin\line x`, Out: "[..\\bin\\line x]\n"},
		{Name: "special_characters", Line: `echo a^&b^|c^<d^>e^^f "x&y|z" (a) ^(`, Out: "a&b|c<d>e^f \"x&y|z\" (a) (\n"},
		{Name: "caret_in_quotes", Line: `echo "a^b"`, Out: "\"a^b\"\n"},
		{Name: "leading_delimiters", Line: ` ,;= echo a`, Out: "a\n"},
		{Name: "slash_after_the_name", Line: `cmd/c echo a`, Out: "a\n"},
		{Name: "caret_before_a_caret", Line: "echo a^^b", Out: "a^b\n"},
		{Name: "caret_in_quotes_at_the_end", Script: "echo \"a^\necho b", Out: "\"a^\nb\n"},
		{Name: "quote_without_its_end", Script: "echo \"a & b\necho c", Out: "\"a & b\nc\n"},
		{Name: "caret_before_a_quote", Line: `echo ^"a & echo b^"`, Out: "\"a \nb\"\n"},
		{Name: "caret_before_the_next_line", Script: "echo a^\n&echo b", Out: "a&echo b\n"},
		{Name: "line_feed_in_a_variable", Script: "setlocal enabledelayedexpansion\nset lf=^\n\n\necho a!lf!b", Out: "a\nb\n"},
		{Name: "percent_in_quotes", Line: `echo "%OS%"`, Out: "\"Windows_NT\"\n"},
		{Name: "at_before_a_block", Line: "@(echo a& echo b)", Out: "a\nb\n"},
		{Name: "at_twice", Line: "@@echo a", Out: "a\n"},
		{Name: "parenthesis_in_a_block", Script: "if 1==1 (\necho a ^)\n)", Out: "a )\n"},
		{Name: "tab_after_a_name", Line: "echo\ta", Out: "a\n"},
		{Name: "quotes_with_s", Line: `cmd /s /c "echo "a b""`, Out: "\"a b\"\n", Source: ss64 + "cmd.html"},
		{Name: "delayed_by_v", Line: `cmd /v:on /c "set v=1& echo !v!"`, Out: "1\n", Source: ss64 + "cmd.html"},
		{Name: "quiet_by_q", Line: `cmd /q /c "for %i in (1) do echo %i"`, Out: "1\n", Source: ss64 + "cmd.html"},
		{Name: "without_autorun", Line: "cmd /d /c echo a", Out: "a\n", Source: ss64 + "cmd.html"},
		{Name: "late_by_call", Line: "cmd /c exit 5 & call echo %^errorlevel%", Out: "5\n"},
		{Name: "wrong_ampersands", Line: "echo a && && echo b", Err: "&& was unexpected at this time.\n", Code: 255},
		{Name: "braces_and_brackets", Line: "echo {a} [b] $c #d ~e `f", Out: "{a} [b] $c #d ~e `f\n"},
	}
}
