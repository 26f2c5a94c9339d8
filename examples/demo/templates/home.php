<?php

declare(strict_types=1);

use Caravan\App;
use Caravan\Model\Entry;

use function Caravan\e;

/**
 * @var App $app
 * @var list<array{label: string, value: string, note: string}> $facts
 * @var list<Entry> $entries
 * @var float $milliseconds
 */

$tours = [
    ['/slow', 'A slow page', 'Waits three seconds, and shows who was served in the meantime.'],
    ['/stream', 'A streamed page', 'Arrives in ten parts, each sent the moment it is ready.'],
    ['/login', 'A session', 'Log in, write an entry, upload a photo: forms, cookies and files at work.'],
    ['/trials/throw', 'An exception', 'Is thrown and not caught by the page. The worker goes on.'],
    ['/trials/exit', 'An exit()', 'Ends the request halfway. What was printed still arrives, whole.'],
    ['/trials/memory', 'Out of memory', 'A fatal error. You get an answer, and the next visitor gets a worker.'],
    ['/api/entries', 'JSON', 'The same journal for programs, page by page.'],
    ['/no/such/place', 'A missing page', 'Goes through the front controller and comes back as a 404.'],
];
?>
<section class="hero">
<div>
<p class="where">A travel journal, and the demo of Howdah</p>
<h1>Seven riders, one elephant.</h1>
<p class="lead">A howdah is the seat that lets many travel on one elephant. This journal is a small PHP application,
and its pages show what the server below does with them.</p>
<p class="actions"><a class="button" href="/journal">Read the journal</a>
<a class="button quiet" href="#tour">Try the server</a></p>
</div>
<?php require __DIR__ . '/elephant.php'; ?>
</section>

<section aria-labelledby="server">
<h2 id="server">What served this page</h2>
<dl class="facts">
<div class="strong"><dt>Time in PHP</dt><dd><?= e(sprintf('%.2f ms', $milliseconds)) ?></dd>
<dd class="note">from the server's hand-over to here</dd></div>
<div class="strong"><dt>First byte</dt><dd data-timing="first-byte">–</dd>
<dd class="note" data-timing="protocol">measured by your browser</dd></div>
<?php foreach ($facts as $fact) : ?>
<div><dt><?= e($fact['label']) ?></dt><dd><?= e($fact['value']) ?></dd>
<dd class="note"><?= e($fact['note']) ?></dd></div>
<?php endforeach ?>
</dl>
</section>

<section aria-labelledby="tour">
<h2 id="tour">Try the server</h2>
<ul class="tour">
<?php foreach ($tours as [$link, $name, $text]) : ?>
<li><a href="<?= e($link) ?>"><strong><?= e($name) ?></strong><span><?= e($text) ?></span></a></li>
<?php endforeach ?>
</ul>
</section>

<section aria-labelledby="latest">
<h2 id="latest">Latest from the road</h2>
<?php require __DIR__ . '/cards.php'; ?>
<p><a class="more" href="/journal">All entries</a></p>
</section>
