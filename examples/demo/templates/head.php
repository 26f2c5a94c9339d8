<?php

declare(strict_types=1);

use Caravan\App;

use function Caravan\e;

/**
 * @var App $app
 * @var string $title
 * @var array{id: int, name: string}|null $user
 * @var string|null $flash
 */

$path = $app->request->path;
$links = ['/' => 'Start', '/journal' => 'Journal', '/slow' => 'Slow', '/stream' => 'Stream', '/about' => 'About'];
?>
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="Caravan, the travel journal that shows what the Howdah application server does.">
<title><?= e($title) ?> · Caravan</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/caravan.css">
<script src="/assets/caravan.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top">
<div class="wrap">
<a class="brand" href="/"><?php require __DIR__ . '/elephant.php'; ?><span>Caravan</span></a>
<nav aria-label="Pages">
<?php foreach ($links as $link => $label) : ?>
<a href="<?= $link ?>"<?= $path === $link ? ' aria-current="page"' : '' ?>><?= $label ?></a>
<?php endforeach ?>
</nav>
<div class="account">
<?php if ($user !== null) : ?>
<a class="button small" href="/journal/new">Write</a>
<form method="post" action="/logout">
<input type="hidden" name="csrf" value="<?= e($app->session()->csrfToken()) ?>">
<button class="plain" type="submit">Log out</button>
</form>
<?php else : ?>
<a href="/login"<?= $path === '/login' ? ' aria-current="page"' : '' ?>>Log in</a>
<?php endif ?>
</div>
</div>
</header>
<?php if ($flash !== null) : ?>
<div class="flash" role="status"><div class="wrap"><?= e($flash) ?></div></div>
<?php endif ?>
<main id="content" class="wrap">
