package constructs

func conditionsRows() []Construct {
	return []Construct{
		{
			Name: "if_else", Script: "if \"%1\"==\"a\" (\n echo is a\n) else if \"%1\"==\"b\" (\n echo is b\n) else (\n echo other\n)",
			Args: "b", Out: "is b\n",
		},
		{
			Name: "comparisons", Out: "1 2 3 4 5 6 7 8\n",
			Script: "set r=\nif 10 gtr 9 set r=1\nif 9 lss 10 set r=%r% 2\nif 1 equ 01 set r=%r% 3\nif 0x10 equ 16 set r=%r% 4\n" +
				"if 5 geq 5 set r=%r% 5\nif 5 leq 5 set r=%r% 6\nif a neq b set r=%r% 7\nif abc lss abd set r=%r% 8\necho %r%",
		},
		{Name: "case", Script: "if a==A echo wrong\nif /i a==A echo right\nif not a==A echo not\nif /i not a==b echo both", Out: "right\nnot\nboth\n"},
		{Name: "defined", Script: "set v=1\nif defined v echo yes\nif not defined w echo no\nif defined errorlevel echo made up", Out: "yes\nno\nmade up\n"},
		{
			Name: "exist", Out: "file\nquoted\nfolder\nfolder with backslash\nwild\nnul\nno\n",
			Script: "echo a>f.txt\nif exist f.txt echo file\nif exist \"f.txt\" echo quoted\nif exist \\w echo folder\n" +
				"if exist \\w\\ echo folder with backslash\nif exist f.* echo wild\nif exist nul echo nul\nif not exist g.txt echo no",
		},
		{Name: "errorlevel", Script: "prog 3\nif errorlevel 3 echo three\nif errorlevel 4 echo wrong\nif %errorlevel% equ 3 echo same", Out: "three\nsame\n", Code: 3},
		{Name: "errorlevel_stays_after_echo", Script: "prog 3\necho %errorlevel%\necho %errorlevel%", Out: "3\n3\n", Code: 3},
		{Name: "empty_operand", Script: "if %nosuch%==1 (\necho a\n)", Err: "( was unexpected at this time.\n", Code: 255},
		{Name: "syntax_error", Line: `if 1==1`, Err: "The syntax of the command is incorrect.\n", Code: 255},
		{Name: "unexpected_if", Line: `if a b c`, Err: "b was unexpected at this time.\n", Code: 255},
		{Name: "if_takes_the_line", Line: `if 1==2 echo a & echo b`},
		{Name: "exist_nul", Script: `if exist \w\nul echo yes`, Out: "yes\n"},
		{Name: "number_and_text", Script: "if 10 lss 9a echo text", Out: "text\n"},
		{Name: "negative_numbers", Script: "if -1 lss 0 echo less\nif -2 gtr -3 echo more", Out: "less\nmore\n"},
		{Name: "octal_numbers", Script: "if 010 equ 8 (echo same) else echo other\nif 08 equ 8 (echo same) else echo other", Out: "same\nother\n"},
		{Name: "quoted_texts", Script: "if \"a b\"==\"a b\" echo same\nif not \"a b\"==\"a  b\" echo other", Out: "same\nother\n"},
		{Name: "version_of_the_extensions", Script: "if cmdextversion 2 echo two\nif not cmdextversion 3 echo not three", Out: "two\nnot three\n"},
		{Name: "comparison_without_case", Script: "if /i abc equ ABC echo same\nif /i not abc==ABD echo other", Out: "same\nother\n"},
		{Name: "errorlevel_below_zero", Script: "prog -1\nif errorlevel 0 echo no\nif not errorlevel 0 echo below\nif %errorlevel% lss 0 echo too", Out: "below\ntoo\n", Code: -1},
		{Name: "else_without_parentheses", Script: "if 1==2 echo a else echo b\necho end", Out: "end\n"},
		{Name: "blanks_around_the_signs", Script: "if a == a echo same", Out: "same\n"},
		{Name: "two_conditions", Script: "if 1==1 if 2==2 echo both", Out: "both\n"},
		{Name: "condition_of_a_part", Script: "set v=xyz\nif \"%v:~0,1%\"==\"x\" echo x", Out: "x\n"},
		{Name: "quoted_numbers_are_texts", Script: `if "10" lss "9" echo text`, Out: "text\n"},
		{Name: "else_of_wild_cards", Script: "if exist *.none (echo yes) else echo no", Out: "no\n"},
		{Name: "else_on_one_line", Script: "if 1==2 (echo a) else (if 1==1 (echo b) else echo c)", Out: "b\n"},
		{Name: "defined_in_other_letters", Script: "set AbC=1\nif defined aBc echo yes", Out: "yes\n"},
		{Name: "argument_is_missing", Script: "if \"%~1\"==\"\" echo none\nif [%1]==[] echo none", Out: "none\nnone\n"},
		{Name: "several_errorlevels", Script: "prog 2\nfor %%e in (3 2 1) do if errorlevel %%e echo %%e", Out: "2\n1\n", Code: 2},
		{Name: "not_defined_with_a_block", Script: "if not defined nosuch (\nset nosuch=1\n)\necho %nosuch%", Out: "1\n"},
		{Name: "large_numbers", Script: "if 2147483647 gtr 2147483646 echo more", Out: "more\n"},
	}
}
