package constructs

func foldersRows() []Construct {
	return []Construct{
		{Name: "pushd", Script: "pushd \\tmp\necho %cd%\npopd\necho %cd%", Out: "C:\\tmp\nC:\\w\n"},
		{Name: "other_drive", Script: "cd /d D:\\data\necho %cd%\nC:\necho %cd%\nD:\necho %cd%", Out: "D:\\data\nC:\\w\nD:\\data\n"},
		{Name: "cd_other_drive", Script: "cd D:\\data\necho %cd%\ncd D:", Out: "C:\\w\nD:\\data\n"},
		{Name: "cd_with_blanks", Script: "md \"a b\"\ncd a b\necho %cd%\ncd..\necho %cd%\ncd\\\necho %cd%", Out: "C:\\w\\a b\nC:\\w\nC:\\\n"},
		{Name: "cd_missing", Script: "cd nosuch || echo no", Out: "no\n", Err: "The system cannot find the path specified.\n", Code: 1},
		{Name: "cd_only", Line: `cd`, Out: "C:\\w\n"},
		{Name: "child_in_the_folder", Line: `cd \tmp & where`, Out: "C:\\tmp\n"},
		{Name: "child_gets_variables", Line: `set v=1& env v`, Out: "v=1\n"},
		{Name: "path", Line: `path`, Out: "PATH=C:\\bin\n"},
		{Name: "pushd_twice", Script: "pushd \\tmp\npushd C:\\\necho %cd%\npopd\necho %cd%\npopd\necho %cd%", Out: "C:\\\nC:\\tmp\nC:\\w\n"},
		{Name: "pushd_missing", Script: "pushd nosuch || echo no", Out: "no\n", Err: "The system cannot find the path specified.\n", Code: 1},
		{Name: "md_with_parents", Script: "md a\\b\\c\nif exist a\\b\\c echo there", Out: "there\n"},
		{Name: "md_several", Script: "md a b \"c d\"\ndir /b /ad", Out: "a\nb\nc d\n"},
		{Name: "md_there", Script: `md \w`, Err: "A subdirectory or file \\w already exists.\n", Code: 1},
		{Name: "rd_not_empty", Script: "md a\necho x>a\\f\nrd a\nif exist a echo there", Out: "there\n", Err: "The directory is not empty.\n"},
		{Name: "rd_tree", Script: "md a\\b\necho x>a\\b\\f\nrd /s /q a\nif not exist a echo gone", Out: "gone\n"},
		{Name: "cd_up_twice", Script: "md a\\b\ncd a\\b\ncd ..\\..\necho %cd%", Out: "C:\\w\n"},
		{Name: "cd_to_the_folder_of_the_file", Script: "cd \\tmp\ncd /d \"%~dp0\"\necho %cd%", Out: "C:\\w\n"},
		{Name: "cd_as_on_disk", Script: "cd \\TMP\necho %cd%", Out: "C:\\tmp\n"},
		{Name: "chdir", Script: "chdir \\tmp\nchdir", Out: "C:\\tmp\n"},
		{Name: "dir_b", Script: "md d\necho x>f\ndir /b\ndir /b /ad\ndir /b /a-d f", Out: "d\nf\nt.cmd\nd\nf\n"},
		{Name: "dir_order", Script: "echo x>a\necho x>b\ndir /b /o-n ?", Out: "b\na\n"},
		{Name: "dir_tree", Script: "md s\necho x>s\\f.x\ndir /s /b *.x", Out: "C:\\w\\s\\f.x\n"},
		{Name: "dir_missing", Script: "dir /b nosuch", Err: "File Not Found\n", Code: 1},
	}
}
