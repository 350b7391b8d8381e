package constructs

func delayedRows() []Construct {
	return []Construct{
		{
			Name: "delayed", Out: "1 2\n2\n",
			Script: "setlocal enabledelayedexpansion\nset v=1\n(\nset v=2\necho %v% !v!\n)\nset n=v\necho !%n%!",
		},
		{Name: "delayed_special_characters", Script: "setlocal enabledelayedexpansion\nset \"v=a&b|c>d\"\necho !v!", Out: "a&b|c>d\n"},
		{Name: "delayed_caret", Script: "setlocal enabledelayedexpansion\necho a^^!b^^!", Out: "a!b!\n"},
		{Name: "delayed_part", Script: "setlocal enabledelayedexpansion\nset v=abc\necho !v:~1! !v:b=x! !nosuch!.", Out: "bc axc .\n"},
		{Name: "delayed_off", Script: "echo !v! a!", Out: "!v! a!\n"},
		{Name: "delayed_in_a_pipe", Script: "setlocal enabledelayedexpansion\nset v=x1\necho !v!|findx\n(echo !v! x)|findx", Out: "x1\n!v! x\n"},
		{Name: "delayed_by_switch", Line: `x`, Err: "'x' is not recognized as an internal or external command,\noperable program or batch file.\n", Code: 1},
		{Name: "delayed_part_by_a_count", Script: "setlocal enabledelayedexpansion\nset s=abc\nfor %%i in (0 1 2) do echo !s:~%%i,1!", Out: "a\nb\nc\n"},
		{Name: "delayed_list_of_variables", Script: "setlocal enabledelayedexpansion\nset a[1]=x\nset a[2]=y\nfor /l %%i in (1,1,2) do echo !a[%%i]!", Out: "x\ny\n"},
		{Name: "delayed_in_a_condition", Script: "setlocal enabledelayedexpansion\nset v=1\n(\nset v=2\nif !v!==2 echo two\n)", Out: "two\n"},
		{Name: "delayed_out_of_setlocal", Script: "setlocal enabledelayedexpansion\nset v=x y\nfor /f \"delims=\" %%a in (\"!v!\") do endlocal & set \"w=%%a\"\necho %w%", Out: "x y\n"},
		{Name: "delayed_switched_off", Script: "setlocal enabledelayedexpansion\nset v=1\nsetlocal disabledelayedexpansion\necho !v!\nendlocal\necho !v!", Out: "!v!\n1\n"},
		{Name: "delayed_words_of_for", Script: "setlocal enabledelayedexpansion\nset v=a b\nfor %%i in (!v!) do echo %%i", Out: "a\nb\n"},
		{Name: "delayed_mark_in_quotes", Script: "setlocal enabledelayedexpansion\necho \"a^!b\"", Out: "\"a!b\"\n"},
		{Name: "delayed_mark_alone", Script: "setlocal enabledelayedexpansion\necho hello!", Out: "hello\n"},
		{Name: "delayed_errorlevel", Script: "setlocal enabledelayedexpansion\n(\nprog 4\necho !errorlevel!\n)", Out: "4\n", Code: 4},
		{Name: "delayed_length_of_a_text", Script: "setlocal enabledelayedexpansion\nset s=abcd\nset n=0\n:c\nif defined s (\nset s=!s:~1!\nset /a n+=1\ngoto c\n)\necho %n%", Out: "4\n"},
		{Name: "delayed_replacement_by_a_word", Script: "setlocal enabledelayedexpansion\nset s=a b a\nfor %%w in (a) do echo !s:%%w=x!", Out: "x b x\n"},
	}
}
