package constructs

func echoRows() []Construct {
	return []Construct{
		{Name: "remarks", Script: "rem a & echo no\n:: b & echo no\nrem.\necho end & rem c", Out: "end \n"},
		{Name: "remark_with_brackets", Script: "if 1==1 (\nrem a )\necho x\n)", Out: "x\n"},
		{Name: "echo_forms", Script: "echo.\necho.a\necho:b\necho(c\necho/d\necho;e\necho,f\necho[g\necho+h", Out: "\na\nb\nc\nd\ne\nf\ng\nh\n"},
		{Name: "echo_state", Script: "echo\necho off\necho \"on\"", Out: "ECHO is off.\n\"on\"\n"},
		{Name: "echo_keeps_blanks", Script: "echo   a  b ", Out: "  a  b \n"},
		{Name: "echo_on", Script: "@echo on\n@set v=1\nset w=2\n@echo off\necho x", Out: "\nC:\\w>set w=2 \nx\n"},
		{Name: "prompt_variable", Script: "prompt $N$G$S$$\n@echo on\nrem x", Out: "\nC> $rem x \n"},
		{Name: "at", Line: `@echo a`, Out: "a\n"},
		{Name: "echo_of_a_parenthesis", Script: "echo(", Out: "\n"},
		{Name: "echo_of_nothing", Script: "echo.%nosuch%", Out: "\n"},
		{Name: "echo_of_an_empty_variable", Script: "echo %nosuch%", Out: "ECHO is off.\n"},
		{Name: "echo_of_signs", Script: "echo a=b, c;d *?", Out: "a=b, c;d *?\n"},
		{Name: "remark_by_a_label", Script: "goto x\n:: echo a\n:x\n:: echo b\necho c", Out: "c\n"},
		{Name: "remark_after_a_chain", Script: "echo a& rem b & echo c", Out: "a\n"},
		{Name: "echo_of_quotes", Script: `echo "a"  'b'`, Out: "\"a\"  'b'\n"},
		{Name: "echo_of_a_path", Script: `echo C:\w\*.t "%~f0"`, Out: "C:\\w\\*.t \"C:\\w\\t.cmd\"\n"},
	}
}
