# CodeIgniter on http://localhost:8080. From the application's folder: howdah run
{
	frankenphp {
		worker {
			file public/frankenphp-worker.php
			max_requests 10000
		}
	}
}

:8080 {
	root * public
	php_server {
		try_files {path} frankenphp-worker.php
	}
}
