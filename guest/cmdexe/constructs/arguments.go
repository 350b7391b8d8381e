package constructs

func argumentsRows() []Construct {
	return []Construct{
		{Name: "arguments", Script: `echo %0 %1 %2 %3[%4]`, Args: `one "two words" 3`, Out: "t.cmd one \"two words\" 3[]\n"},
		{Name: "all_arguments", Script: `echo [%*]`, Args: `a  "b c"  d`, Out: "[a  \"b c\"  d]\n"},
		{Name: "arguments_with_delimiters", Script: `echo %1 %2 %3 %4`, Args: `a,b;c=d`, Out: "a b c d\n"},
		{Name: "shift", Script: "shift\necho %0 %1 %2\nshift /1\necho %0 %1 [%2]\necho %*", Args: "a b c", Out: "a b c\na c []\na b c\n"},
		{Name: "modifiers", Script: `echo %~1 %~f2 %~n2 %~x2 %~nx2 %~dp2`, Args: `"a b" f.txt`, Out: "a b C:\\w\\f.txt f .txt f.txt C:\\w\\\n"},
		{Name: "its_own_folder", Script: "cd \\tmp\necho %~dp0 %~f0 %~nx0 %~n0", Out: "C:\\w\\ C:\\w\\t.cmd t.cmd t\n"},
		{Name: "parent_folder", Script: `for %%i in ("%~dp0..") do echo %%~fi`, Out: "C:\\\n"},
		{Name: "search_in_path", Script: `echo %~$PATH:1`, Args: `prog.exe`, Out: "C:\\bin\\prog.exe\n"},
		{Name: "size_and_attributes", Script: "echo abc>f\nfor %%i in (f) do echo %%~zi %%~ai", Out: "5 --a------\n"},
		{Name: "modifiers_together", Script: "echo %~dpnx1", Args: `sub\f.txt`, Out: "C:\\w\\sub\\f.txt\n"},
		{Name: "modifier_s", Script: "echo %~fs1", Args: "f.txt", Out: "C:\\w\\f.txt\n"},
		{Name: "drive_and_path", Script: "echo %~d1 %~p1", Args: `"C:\x y\f.t"`, Out: "C: \\x y\\\n"},
		{Name: "name_without_extension", Script: "echo [%~n1] [%~x1]", Args: "name", Out: "[name] []\n"},
		{Name: "name_with_dots", Script: "echo %~n1 %~x1", Args: "a.b.c", Out: "a.b .c\n"},
		{Name: "ten", Script: "echo %10", Args: "a b", Out: "a0\n"},
		{Name: "shift_from_the_second", Script: "shift /2\necho %1 %2", Args: "a b c", Out: "a c\n"},
		{Name: "quoted_delimiters", Script: "echo %1 %2", Args: `"a=b;c" d`, Out: "\"a=b;c\" d\n"},
		{Name: "switches", Script: "echo %1 %2", Args: "/x /y:1", Out: "/x /y:1\n"},
		{Name: "each_argument", Script: ":next\nif \"%~1\"==\"\" exit /b\necho %~1\nshift\ngoto next", Args: `a "b c"`, Out: "a\nb c\n"},
		{Name: "last_argument", Script: "for %%a in (%*) do set last=%%~a\necho %last%", Args: `a b "c d"`, Out: "c d\n"},
		{Name: "count_of_arguments", Script: "set n=0\nfor %%a in (%*) do set /a n+=1\necho %n%", Args: `a "b c" d`, Out: "3\n"},
		{Name: "search_in_another_list", Script: "set P2=C:\\none\necho [%~$P2:1]", Args: "prog.exe", Out: "[]\n"},
		{Name: "size_of_nothing", Script: "echo [%~z1]", Args: "nosuch", Out: "[]\n"},
		{Name: "quotes_taken_off_once", Script: "echo %~1", Args: `"a "b" c"`, Out: "a \"b\" c\n"},
		{Name: "arguments_of_a_label", Script: "call :f \"x y\" z\nexit /b\n:f\necho %~1-%2-%3", Args: "a b c", Out: "x y-z-\n"},
		{Name: "parent_of_an_argument", Script: "echo %~dp1.", Args: `sub\f`, Out: "C:\\w\\sub\\.\n"},
	}
}
