package shell_test

import (
	"strings"
	"testing"
)

// batches are batch files in C:\w, which run with ECHO off.
var batches = []struct {
	name, script, args, input, out, err string
	code                                int32
}{
	{name: "arguments", script: `echo %0 %1 %2 %3[%4]`, args: `one "two words" 3`, out: "t.cmd one \"two words\" 3[]\n"},
	{name: "all_arguments", script: `echo [%*]`, args: `a  "b c"  d`, out: "[a  \"b c\"  d]\n"},
	{name: "arguments_with_delimiters", script: `echo %1 %2 %3 %4`, args: `a,b;c=d`, out: "a b c d\n"},
	{name: "shift", script: "shift\necho %0 %1 %2\nshift /1\necho %0 %1 [%2]\necho %*", args: "a b c", out: "a b c\na c []\na b c\n"},
	{name: "modifiers", script: `echo %~1 %~f2 %~n2 %~x2 %~nx2 %~dp2`, args: `"a b" f.txt`, out: "a b C:\\w\\f.txt f .txt f.txt C:\\w\\\n"},
	{name: "its_own_folder", script: "cd \\tmp\necho %~dp0 %~f0 %~nx0 %~n0", out: "C:\\w\\ C:\\w\\t.cmd t.cmd t\n"},
	{name: "parent_folder", script: `for %%i in ("%~dp0..") do echo %%~fi`, out: "C:\\\n"},
	{name: "search_in_path", script: `echo %~$PATH:1`, args: `prog.exe`, out: "C:\\bin\\prog.exe\n"},
	{name: "size_and_attributes", script: "echo abc>f\nfor %%i in (f) do echo %%~zi %%~ai", out: "5 --a------\n"},
	{name: "no_newline_at_the_end", script: "echo a\necho b", out: "a\nb\n"},
	{name: "undefined_variable", script: `echo [%nosuch%] [%nosuch:~0,1%]`, out: "[] [~0,1]\n"},
	{name: "percent", script: `echo 100%% %%OS%% %OS% %`, out: "100% %OS% Windows_NT \n"},
	{
		name: "substrings", script: "set v=qwerty\necho %v:~0,1% %v:~2,2% %v:~-2% %v:~1,-1% %v:~-3,2% [%v:~9%] %v:~2%",
		out: "q er ty wert rt [] erty\n",
	},
	{name: "replacements", script: "set v=a-b-A\necho %v:-=+% %v:a=x% %v:*b=z% %v:-=%", out: "a+b+A x-b-x z-A abA\n"},
	{name: "quotes_taken_off", script: "set v=\"C:\\x y\"\nset v=%v:\"=%\necho %v%", out: "C:\\x y\n"},
	{
		name: "if_else", script: "if \"%1\"==\"a\" (\n echo is a\n) else if \"%1\"==\"b\" (\n echo is b\n) else (\n echo other\n)",
		args: "b", out: "is b\n",
	},
	{
		name: "comparisons", out: "1 2 3 4 5 6 7 8\n",
		script: "set r=\nif 10 gtr 9 set r=1\nif 9 lss 10 set r=%r% 2\nif 1 equ 01 set r=%r% 3\nif 0x10 equ 16 set r=%r% 4\n" +
			"if 5 geq 5 set r=%r% 5\nif 5 leq 5 set r=%r% 6\nif a neq b set r=%r% 7\nif abc lss abd set r=%r% 8\necho %r%",
	},
	{name: "case", script: "if a==A echo wrong\nif /i a==A echo right\nif not a==A echo not\nif /i not a==b echo both", out: "right\nnot\nboth\n"},
	{name: "defined", script: "set v=1\nif defined v echo yes\nif not defined w echo no\nif defined errorlevel echo made up", out: "yes\nno\nmade up\n"},
	{
		name: "exist", out: "file\nquoted\nfolder\nfolder with backslash\nwild\nnul\nno\n",
		script: "echo a>f.txt\nif exist f.txt echo file\nif exist \"f.txt\" echo quoted\nif exist \\w echo folder\n" +
			"if exist \\w\\ echo folder with backslash\nif exist f.* echo wild\nif exist nul echo nul\nif not exist g.txt echo no",
	},
	{name: "errorlevel", script: "prog 3\nif errorlevel 3 echo three\nif errorlevel 4 echo wrong\nif %errorlevel% equ 3 echo same", out: "three\nsame\n", code: 3},
	{name: "errorlevel_stays_after_echo", script: "prog 3\necho %errorlevel%\necho %errorlevel%", out: "3\n3\n", code: 3},
	{name: "errorlevel_as_a_variable", script: "set errorlevel=7\nprog 3\necho %errorlevel%", out: "7\n", code: 3},
	{name: "unknown_program", script: "nosuch 2>nul\necho %errorlevel%", out: "9009\n", code: 9009},
	{name: "unknown_at_the_end", script: "nosuch 2>nul", code: 9009},
	{name: "empty_operand", script: "if %nosuch%==1 (\necho a\n)", err: "( was unexpected at this time.\n", code: 255},
	{name: "for_words", script: `for %%i in (a,b;c "d e") do echo %%i %%~i`, out: "a a\nb b\nc c\n\"d e\" d e\n"},
	{name: "for_wild", script: "echo a>1.txt\necho b>2.txt\nmd 3.txt\nfor %%i in (*.txt) do echo %%i", out: "1.txt\n2.txt\n"},
	{name: "for_wild_quoted", script: "echo a>\"x 1.txt\"\nfor %%i in (\"C:\\w\\*.txt\") do echo %%i %%~nxi", out: "C:\\w\\x 1.txt x 1.txt\n"},
	{name: "for_wild_nothing", script: "for %%i in (*.none) do echo %%i\necho end", out: "end\n"},
	{name: "for_folders", script: "md a1 a2\necho x>a3\nfor /d %%i in (a*) do echo %%i", out: "a1\na2\n"},
	{
		name: "for_tree", script: "md s\\t\necho x>s\\1.x\necho x>s\\t\\2.x\nfor /r s %%i in (*.x) do echo %%i",
		out: "C:\\w\\s\\1.x\nC:\\w\\s\\t\\2.x\n",
	},
	{name: "for_tree_of_folders", script: "md s\\t\ncd s\nfor /r %%i in (.) do echo %%i", out: "C:\\w\\s\\.\nC:\\w\\s\\t\\.\n"},
	{name: "for_folders_in_a_tree", script: "md s\\bin s\\t\\bin\nfor /d /r s %%i in (b*) do echo %%i", out: "C:\\w\\s\\bin\nC:\\w\\s\\t\\bin\n"},
	{name: "for_counts", script: "for /l %%i in (1,2,6) do echo %%i\nfor /l %%i in (3,-1,2) do echo %%i\nfor /l %%i in (1,1,0) do echo no", out: "1\n3\n5\n3\n2\n"},
	{name: "for_in_for", script: "for %%i in (a b) do for %%j in (1 2) do echo %%i%%j", out: "a1\na2\nb1\nb2\n"},
	{name: "for_variable_of_another_size", script: "for %%i in (a) do echo %%i %%I", out: "a %I\n"},
	{name: "for_f_file", script: "(echo a b c& echo.& echo ;x& echo d e f)>f\nfor /f %%i in (f) do echo %%i", out: "a\nd\n"},
	{name: "for_f_tokens", script: "for /f \"tokens=1,3-4*\" %%a in (\"1 2 3 4 5 6\") do echo %%a-%%b-%%c-%%d", out: "1-3-4-5 6\n"},
	{name: "for_f_star", script: "for /f \"tokens=*\" %%a in (\"  a  b \") do echo [%%a]", out: "[a  b ]\n"},
	{name: "for_f_delims", script: "for /f \"tokens=1,2 delims=,= \" %%a in (\"k=v,x\") do echo %%a %%b", out: "k v\n"},
	{name: "for_f_no_delims", script: "for /f \"delims=\" %%a in (\" a b \") do echo [%%a]", out: "[ a b ]\n"},
	{name: "for_f_eol", script: "(echo #a& echo b)>f\nfor /f \"eol=#\" %%a in (f) do echo %%a", out: "b\n"},
	{name: "for_f_skip", script: "(echo 1& echo 2& echo 3)>f\nfor /f \"skip=2\" %%a in (f) do echo %%a", out: "3\n"},
	{name: "for_f_usebackq", script: "echo x y>\"f g\"\nfor /f \"usebackq tokens=2\" %%a in (\"f g\") do echo %%a", out: "y\n"},
	{name: "for_f_usebackq_command", script: "for /f \"usebackq delims=\" %%a in (`echo a \"b\"`) do echo %%a", out: "a \"b\"\n"},
	{name: "for_f_usebackq_string", script: "for /f \"usebackq\" %%a in ('s t') do echo %%a", out: "s\n"},
	{name: "for_f_command_with_pipe", script: "for /f %%a in ('echo x^| findx') do echo got %%a", out: "got x\n"},
	{name: "for_f_command_with_redirection", script: "for /f %%a in ('err 2^>^&1') do echo got %%a", out: "got to\n"},
	{name: "for_f_command_is_apart", script: "set v=1\nfor /f %%a in ('set v^=2^& echo x') do echo %v% %%a", out: "1 x\n"},
	{name: "for_f_missing_file", script: "for /f %%a in (nosuch) do echo x", err: "The system cannot find the file nosuch.\n", code: 1},
	{name: "for_f_carets_for_quotes", script: "for /f tokens^=2^ delims^=^\" %%a in ('echo a\"b\"c') do echo %%a", out: "b\n"},
	{name: "block_expands_at_once", script: "set v=1\n(\nset v=2\necho %v%\n)\necho %v%", out: "1\n2\n"},
	{
		name: "delayed", out: "1 2\n2\n",
		script: "setlocal enabledelayedexpansion\nset v=1\n(\nset v=2\necho %v% !v!\n)\nset n=v\necho !%n%!",
	},
	{name: "delayed_special_characters", script: "setlocal enabledelayedexpansion\nset \"v=a&b|c>d\"\necho !v!", out: "a&b|c>d\n"},
	{name: "delayed_caret", script: "setlocal enabledelayedexpansion\necho a^^!b^^!", out: "a!b!\n"},
	{name: "delayed_part", script: "setlocal enabledelayedexpansion\nset v=abc\necho !v:~1! !v:b=x! !nosuch!.", out: "bc axc .\n"},
	{name: "delayed_off", script: "echo !v! a!", out: "!v! a!\n"},
	{name: "delayed_in_a_pipe", script: "setlocal enabledelayedexpansion\nset v=x1\necho !v!|findx\n(echo !v! x)|findx", out: "x1\n!v! x\n"},
	{name: "counting_in_a_loop", script: "setlocal enabledelayedexpansion\nset n=0\nfor %%i in (a b c) do set /a n+=1\necho %n%", out: "3\n"},
	{name: "setlocal", script: "set v=1\nsetlocal\nset v=2\ncd \\tmp\nendlocal\necho %v% %cd%", out: "1 C:\\w\n"},
	{name: "endlocal_keeps_by_line", script: "setlocal\nset v=2\nendlocal & set v=%v%\necho %v%", out: "2\n"},
	{name: "setlocal_ends_with_a_call", script: "set v=1\ncall :sub\necho %v%\nexit /b\n:sub\nsetlocal\nset v=2\nexit /b 0", out: "1\n"},
	{name: "call_label", script: "call :sub a \"b c\"\necho after %errorlevel%\ngoto :eof\n:sub\necho %0 %1 %2 %~2\nexit /b 5", out: ":sub a \"b c\" b c\nafter 5\n", code: 5},
	{name: "call_missing_label", script: "call :none\necho %errorlevel%", out: "1\n", err: "The system cannot find the batch label specified - none\n", code: 1},
	{name: "call_file", script: "echo @echo in %%1> b.cmd\ncall b.cmd x\necho after", out: "in x\nafter\n"},
	{name: "file_without_call", script: "echo @echo in %%1> b.cmd\nb x\necho never", out: "in x\n"},
	{
		name: "file_that_begins_anew", out: "700\n", // more often than calls may nest
		script: "set /a n+=1\nif %n% lss 700 t.cmd\necho %n%",
	},
	{name: "file_without_call_redirected", script: "echo @echo in %%1> b.cmd\nb x >f\necho never", args: "", out: ""},
	{name: "file_without_call_in_a_pipe", script: "echo @echo in x%%1> b.cmd\nb y | findx\necho after", out: "in xy\nafter\n"},
	{
		name: "endless_calls", script: "call t.cmd 2>nul", code: 1, err: "",
	},
	{name: "long_line", script: "echo " + strings.Repeat("x", 9000), err: "The input line is too long.\n", code: 255},
	{name: "long_line_of_a_variable", script: "set v=" + strings.Repeat("x", 5000) + "\necho %v%%v%", err: "The input line is too long.\n", code: 255},
	{name: "long_value", script: "setlocal enabledelayedexpansion\nset v=" + strings.Repeat("x", 5000) + "\nset v=!v!!v!", err: "The input line is too long.\n", code: 1},
	{name: "binary", script: "\x7fELF\x02\x01\x00\x00\x00\xff 2>nul\necho %errorlevel%", out: "9009\n", code: 9009},
	{name: "call_expands_again", script: "set a=b\nset b=c\ncall echo %%%a%%%", out: "c\n"},
	{name: "call_builtin", script: "call set v=1\necho %v%", out: "1\n"},
	{name: "call_if", script: "call if 1==1 echo a", err: "'if' is not recognized as an internal or external command,\noperable program or batch file.\n", code: 9009},
	{name: "goto", script: "goto there\necho skipped\n:there\necho here", out: "here\n"},
	{name: "goto_with_colon", script: "goto :there\necho skipped\n  :There with words\necho here", out: "here\n"},
	{name: "goto_back", script: "set n=0\n:again\nset /a n+=1\nif %n% lss 3 goto again\necho %n%", out: "3\n"},
	{name: "goto_out_of_a_loop", script: "for %%i in (a b c) do if %%i==b goto out\necho never\n:out\necho out", out: "out\n"},
	{name: "goto_missing", script: "goto none\necho never", err: "The system cannot find the batch label specified - none\n", code: 1},
	{name: "goto_variable", script: "set l=two\ngoto %l%\n:one\necho 1\n:two\necho 2", out: "2\n"},
	{name: "exit_b", script: "call :f\necho %errorlevel%\nexit /b 4\n:f\nexit /b 2", out: "2\n", code: 4},
	{name: "exit_ends_all", script: "call :f\necho never\n:f\nexit 3", code: 3},
	{name: "exit_b_keeps_errorlevel", script: "prog 6\nexit /b", code: 6},
	{name: "exit_b_variable", script: "prog 6\nset e=%errorlevel%\nexit /b %e%", code: 6},
	{name: "return_of_a_call", script: "call :f && echo yes || echo no\nexit /b 0\n:f\nexit /b 1", out: "no\n"},
	{name: "failed_step", script: "prog 1 || exit /b 9\necho never", code: 9},
	{name: "remarks", script: "rem a & echo no\n:: b & echo no\nrem.\necho end & rem c", out: "end \n"},
	{name: "remark_with_brackets", script: "if 1==1 (\nrem a )\necho x\n)", out: "x\n"},
	{name: "caret_at_the_end", script: "echo a ^\n  b", out: "a   b\n"},
	{name: "echo_forms", script: "echo.\necho.a\necho:b\necho(c\necho/d\necho;e\necho,f\necho[g\necho+h", out: "\na\nb\nc\nd\ne\nf\ng\nh\n"},
	{name: "echo_state", script: "echo\necho off\necho \"on\"", out: "ECHO is off.\n\"on\"\n"},
	{name: "echo_keeps_blanks", script: "echo   a  b ", out: "  a  b \n"},
	{name: "echo_on", script: "@echo on\n@set v=1\nset w=2\n@echo off\necho x", out: "\nC:\\w>set w=2 \nx\n"},
	{
		name: "set_forms", script: "set a=1\nset \"b=2\" ignored\nset c = 3\nset d=\"4\"\necho [%a%] [%b%] [%c %] [%d%]",
		out: "[1] [2] [ 3] [\"4\"]\n",
	},
	{name: "set_lists", script: "set zz1=a\nset ZZ2=b\nset zz", out: "zz1=a\nZZ2=b\n"},
	{name: "set_missing", script: "set nosuch", err: "Environment variable nosuch not defined\n", code: 1},
	{name: "set_empty", script: "set v=1\nset v=\nif not defined v echo gone", out: "gone\n"},
	{name: "set_p_reads_a_line", script: "set /p v=Name? \necho [%v%]", input: "x y\nz\n", out: "Name? [x y]\n"},
	{name: "set_p_from_a_file", script: "(echo one& echo two)>f\nset /p v=<f\necho [%v%]", out: "[one]\n"},
	{name: "set_p_file_first", script: "(echo one& echo two)>f\n<f set /p v=\necho [%v%]", out: "[one]\n"},
	{
		name:   "set_p_without_a_name",
		script: "<nul set /p =a\n<nul set /p=b\nset /p \"=c\"<nul\nset /p =\"d\"<nul\necho x| set /p =e\nfor %%i in (1 2) do <nul set /p =%%i,\necho.",
		out:    "abcde1,2,\n", code: 1,
	},
	{name: "set_p_of_nothing", script: "set /p v", err: "The syntax of the command is incorrect.\n", code: 1},
	{name: "set_p_two_lines", script: "(echo one& echo two)>f\n(set /p v=& set /p w=)<f\necho %v% %w%", out: "one two\n"},
	{name: "set_p_leaves_the_rest", script: "set /p v=\nsort", input: "first\nb\na\n", out: "a\nb\n"},
	{name: "set_p_at_the_end", script: "set v=old\nset /p v=\necho %errorlevel% %v%", out: "1 old\n", code: 1},
	{name: "set_a", script: "set /a v=1+2*3, w=(1+2)*3\nset /a x=v-w,y=-7/2,z=7%%3\nset /a \"s=1<<4|3, t=!0, u=~5\"\necho %v% %w% %x% %y% %z% %s% %t% %u%", out: "7 9 -2 -3 1 19 1 -6\n"},
	{name: "set_a_numbers", script: "set /a v=0x1F+010\nset n=5\nset /a n*=n+1\necho %v% %n%", out: "39 30\n"},
	{name: "set_a_by_zero", script: "set /a v=1/0\necho %errorlevel%", out: "1073750993\n", err: "Divide by zero error.\n", code: 1073750993},
	{name: "pushd", script: "pushd \\tmp\necho %cd%\npopd\necho %cd%", out: "C:\\tmp\nC:\\w\n"},
	{name: "other_drive", script: "cd /d D:\\data\necho %cd%\nC:\necho %cd%\nD:\necho %cd%", out: "D:\\data\nC:\\w\nD:\\data\n"},
	{name: "cd_other_drive", script: "cd D:\\data\necho %cd%\ncd D:", out: "C:\\w\nD:\\data\n"},
	{name: "cd_with_blanks", script: "md \"a b\"\ncd a b\necho %cd%\ncd..\necho %cd%\ncd\\\necho %cd%", out: "C:\\w\\a b\nC:\\w\nC:\\\n"},
	{name: "cd_missing", script: "cd nosuch || echo no", out: "no\n", err: "The system cannot find the path specified.\n", code: 1},
	{name: "pipe_keeps_variables", script: "set v=1\n(set v=2& echo x)|findx\necho %v%", out: "x\n1\n"},
	{name: "utf8", script: "set v=größe €\necho %v% %v:~2,1%\nfor %%i in (ü) do echo %%i", out: "größe € ö\nü\n"},
	{name: "program_reads_on", script: "sort\necho end", input: "b\na\n", out: "a\nb\nend\n"},
	{name: "two_batch_files_in_a_block", script: "echo @exit /b 3 > b.cmd\n(call b.cmd || echo failed) & echo %errorlevel%", out: "failed\n0\n", code: 3},
	{name: "nested_blocks", script: "if 1==1 (\n  if 2==2 (\n    for %%i in (a) do (\n      echo %%i\n    )\n  ) else (\n    echo no\n  )\n)", out: "a\n"},
	{name: "prompt_variable", script: "prompt $N$G$S$$\necho on\n@echo on\nrem x", out: "\nC> $rem x \n"},
	{name: "wrong_replacement", script: "set v=a\necho %v:=x%", err: "=x% was unexpected at this time.\n", code: 255},
}

func TestBatchFiles(t *testing.T) {
	for _, tt := range batches {
		t.Run(tt.name, func(t *testing.T) {
			script := strings.Replace(tt.script, "echo on\n@echo on", "@echo on", 1)
			check(t, newMachine(t).batch("t.cmd", script, tt.args, tt.input), result{tt.out, tt.err, tt.code})
		})
	}
}
