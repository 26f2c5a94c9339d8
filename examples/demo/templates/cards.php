<?php

declare(strict_types=1);

use Caravan\Model\Entry;

use function Caravan\day;
use function Caravan\e;

/**
 * @var list<Entry> $entries
 */
?>
<ul class="cards">
<?php foreach ($entries as $entry) : ?>
<li class="card">
<img src="<?= e($entry->cover()) ?>" alt="" width="800" height="450" loading="lazy">
<div>
<p class="where"><?= e($entry->place) ?> · <?= day($entry->createdAt) ?></p>
<h3><a href="/journal/<?= $entry->id ?>"><?= e($entry->title) ?></a></h3>
<p><?= e($entry->teaser()) ?></p>
<p class="meta"><?= $entry->comments === 1 ? '1 comment' : "$entry->comments comments" ?></p>
</div>
</li>
<?php endforeach ?>
</ul>
